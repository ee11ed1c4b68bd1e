/** API keys of the settings: the root key and the operator's. They permit everything. */

import { createHash, timingSafeEqual } from "node:crypto";
import type { Caller } from "./caller.js";

export class FixedKeys {
  /** Digests instead of keys. */
  readonly #known: readonly { readonly digest: Buffer; readonly caller: Caller }[];

  constructor(rootKey: string | undefined, apiKeys: readonly string[]) {
    const named = apiKeys.map((key, i): [string, string] => [key, `operator-${i + 1}`]);
    if (rootKey !== undefined) named.unshift([rootKey, "root"]);
    this.#known = named.map(([key, id]) => ({ digest: digestOf(key), caller: { id, scopes: ["admin"] } }));
  }

  /** Takes constant time wherever the keys differ. */
  callerOf(apiKey: string): Caller | undefined {
    const digest = digestOf(apiKey);
    const [found] = this.#known.filter((known) => timingSafeEqual(known.digest, digest));
    return found?.caller;
  }
}

function digestOf(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
