/**
 * Detects whether a service accepts vectors as base64; other implementations may accept JSON only.
 */

import { SealdexError } from "../errors.js";

export class BinaryRoutes {
  #exist: boolean | undefined;

  /**
   * Calls `binary`, or `json` if the service has no binary routes. A service answers 404 both for
   * an unknown route and for an unknown index, so the first call with a 404 is repeated in JSON,
   * which decides.
   */
  async use<T>(binary: () => Promise<T>, json: () => Promise<T>): Promise<T> {
    if (this.#exist !== false) {
      try {
        const result = await binary();
        this.#exist = true;
        return result;
      } catch (error) {
        if (this.#exist === true || !(error instanceof SealdexError) || error.code !== "not_found")
          throw error;
      }
    }
    const result = await json();
    this.#exist ??= false;
    return result;
  }
}
