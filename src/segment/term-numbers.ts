/** Numbers of terms, in the order in which they were seen first. */

/** A map that grows is copied as a whole: many small ones are copied one after the other. */
const mapCount = 64;

export class TermNumbers {
  /** By number. */
  readonly terms: string[] = [];
  readonly #maps = Array.from({ length: mapCount }, () => new Map<string, number>());

  numberOf(term: string): number {
    const map = this.#maps[mapOf(term)];
    const known = map.get(term);
    if (known !== undefined) return known;
    const number = this.terms.push(term) - 1;
    map.set(term, number);
    return number;
  }
}

function mapOf(term: string): number {
  const { length } = term;
  return (
    (term.charCodeAt(0) + 7 * term.charCodeAt(length - 1) + 31 * term.charCodeAt(length >> 1)) % mapCount
  );
}
