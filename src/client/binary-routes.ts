/** Whether a service takes vectors as base64: services of others may take JSON alone. */

import { SealdexError } from "../errors.js";

export class BinaryRoutes {
  #exist: boolean | undefined;

  /**
   * What `binary` resolves to, or `json` if the service is without binary routes. A service answers 404 for a route and
   * for an index that does not exist; so the first call that finds nothing is made again in JSON, which decides.
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
