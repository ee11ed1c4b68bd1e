/** Numbers terms in the order of their first occurrence. */

/**
 * A growing map is copied as a whole. Beyond this many terms, many maps share them and are copied
 * one at a time.
 */
const firstMax = 2 ** 16;
const mapCount = 64;

export class TermNumbers {
  /** Indexed by number. */
  readonly terms: string[] = [];
  /** The first terms, which most texts repeat. */
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
