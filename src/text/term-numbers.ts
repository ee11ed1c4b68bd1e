/** Numbers of terms, in the order in which they were seen first. */

/** A map that grows is copied as a whole: past so many terms there are many maps, which are copied one after the other. */
const firstMax = 2 ** 16;
const mapCount = 64;

export class TermNumbers {
  /** By number. */
  readonly terms: string[] = [];
  /** The terms that were seen first, which most texts repeat. */
  readonly #first = new Map<string, number>();
  readonly #others = Array.from({ length: mapCount }, () => new Map<string, number>());

  numberOf(term: string): number {
    const first = this.#first.get(term);
    if (first !== undefined) return first;
    if (this.#first.size < firstMax) return this.#add(this.#first, term);
    const map = this.#others[mapOf(term)];
    return map.get(term) ?? this.#add(map, term);
  }

  #add(map: Map<string, number>, term: string): number {
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
