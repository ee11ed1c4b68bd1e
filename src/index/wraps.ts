/** The wraps of an embedded index: checks arguments, and passes clean values to `IndexAccess`. */

import type { Calls } from "../async/calls.js";
import { invalid, typeName } from "../checks/input.js";
import { isIndexName } from "../state/commit/object-names.js";
import { parseKeySource } from "../keys/key-provider.js";
import { methodOptions } from "../api/method-options.js";
import { takeOptions } from "../checks/option-names.js";
import type { CallOptions, WrapDescription, WrapOptions, Wraps } from "../api/vector-index.js";
import type { OpenIndex } from "./open/open-index.js";
import { isDate } from "../checks/value-kinds.js";

export class IndexWraps implements Wraps {
  readonly #index: OpenIndex;
  readonly #calls: Calls;

  constructor(index: OpenIndex, calls: Calls) {
    this.#index = index;
    this.#calls = calls;
  }

  async add(options: WrapOptions): Promise<void> {
    options = takeOptions(options, methodOptions.addWrap);
    const { name, key, access, expiresAt, signal } = options;
    checkName(name);
    if (access !== "read-only" && access !== "read-write") {
      throw invalid(`access: expected read-only or read-write, got ${typeName(access)}`);
    }
    const source = parseKeySource(key);
    const end = this.#end(expiresAt);
    await this.#calls.write(signal, () =>
      this.#index.access.addWrap({ name, access, ...(end !== undefined && { expiresAt: end }) }, source),
    );
  }

  async list(options: CallOptions = {}): Promise<WrapDescription[]> {
    options = takeOptions(options, methodOptions.listWraps);
    const wraps = await this.#calls.read(options.signal, () => this.#index.access.wraps());
    return wraps.map(({ name, access, expiresAt, provider }) => ({
      name,
      access,
      ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
      ...(provider && { provider: provider.name }),
    }));
  }

  async revoke(name: string, options: CallOptions = {}): Promise<void> {
    options = takeOptions(options, methodOptions.revokeWrap);
    checkName(name);
    await this.#calls.write(options.signal, () => this.#index.access.revokeWrap(name));
  }

  #end(expiresAt: unknown): number | undefined {
    if (expiresAt === undefined) return undefined;
    if (!isDate(expiresAt) || !(expiresAt.getTime() > this.#index.clock.wall())) {
      throw invalid("expiresAt: expected a date in the future");
    }
    return expiresAt.getTime();
  }
}

function checkName(name: unknown): asserts name is string {
  if (typeof name === "string" && isIndexName(name)) return;
  throw invalid("name: expected 1 to 128 bytes of UTF-8 without control characters");
}
