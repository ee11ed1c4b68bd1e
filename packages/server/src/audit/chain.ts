/**
 * Lines of an audit log: JSON in ASCII, each with its number, the digest of the previous line and a
 * MAC under a key derived from the root key. docs/internals/format.md §9.
 */

import { createHash, createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { deriveKey } from "../access/root-key.js";
import { asciiJson } from "../settings/log-output.js";

export interface AuditEvent {
  /** ISO 8601. */
  readonly at: string;
  /** Method and route of a request, or the action of a command. */
  readonly action: string;
  readonly [name: string]: string | number | undefined;
}

export type AuditLine = AuditEvent & { readonly n: number; readonly previous: string };

/** Characters of a line stand for its bytes. */
export const digestOf = (line: string): string => createHash("sha256").update(line, "latin1").digest("hex");

export class ChainKey {
  readonly #key: KeyObject;

  constructor(rootKey: string) {
    this.#key = deriveKey(rootKey, "sealdex-server/1/audit");
  }

  /** Encodes a line of log `id`, without its line feed, which JSON escapes. */
  seal(id: string, { n, previous, ...event }: AuditLine): string {
    return this.#end(id, asciiJson(JSON.stringify({ n, previous, ...event })).slice(0, -1));
  }

  /** Undefined unless `line` was sealed for log `id`. */
  open(id: string, line: string): AuditLine | undefined {
    const sealed = this.#end(id, line.slice(0, -`,"mac":"${"0".repeat(64)}"}`.length));
    if (line.length !== sealed.length) return undefined;
    const isSealed = timingSafeEqual(Buffer.from(line, "latin1"), Buffer.from(sealed, "latin1"));
    return isSealed ? (JSON.parse(line) as AuditLine) : undefined;
  }

  /** Seals the number of lines of log `id`, so that storage cannot forge it. */
  sealCount(id: string, count: number): string {
    return `${count} ${this.#mac(`end ${id} ${count}`)}`;
  }

  #end(id: string, json: string): string {
    return `${json},"mac":"${this.#mac(`line ${id} ${json}`)}"}`;
  }

  #mac(text: string): string {
    return createHmac("sha256", this.#key).update(text, "latin1").digest("hex");
  }
}
