/** Keys are managed where the index is: not over HTTP, where the service would see every new key. */

import { SealdexError } from "../errors.js";
import { methodOptions } from "../method-options.js";
import { checkOptions } from "../option-names.js";
import type { CallOptions, WrapDescription, WrapOptions, Wraps } from "../vector-index.js";

export class RemoteWraps implements Wraps {
  async add(options: WrapOptions): Promise<void> {
    checkOptions(options, methodOptions.addWrap);
    throw embeddedOnly("wraps.add");
  }

  async list(options: CallOptions = {}): Promise<WrapDescription[]> {
    checkOptions(options, methodOptions.listWraps);
    throw embeddedOnly("wraps.list");
  }

  async revoke(_name: string, options: CallOptions = {}): Promise<void> {
    checkOptions(options, methodOptions.revokeWrap);
    throw embeddedOnly("wraps.revoke");
  }
}

/** What a service does not do for its clients. */
export function embeddedOnly(what: string): SealdexError {
  return new SealdexError("not_supported", `${what}: expected an embedded index, this one is behind HTTP`);
}
