/**
 * Lines of an audit log: JSON in ASCII, each with its number, the digest of the previous line and a
 * MAC under a key derived from the root key. The only line separator of ASCII is the line feed,
 * which JSON escapes. docs/internals/format.md §9.
 */

import { createHash, createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { asciiJson } from "./ascii-json.js";
import { deriveKey } from "../access/root-key.js";

export interface AuditEvent {
  /** ISO 8601. */
  readonly at: string;
  /**
   * Id of an API key, `root`, `operator-1`, or `command line`. Undefined without a valid API key.
   */
  readonly caller?: string;
  readonly address?: string;
  /** Method and route of a request, or the action of a command. */
  readonly action: string;
  readonly index?: string;
  /** Id of the created or revoked API key. */
  readonly key?: string;
  /** Name of the added or revoked wrap. */
  readonly wrap?: string;
  /** HTTP status. Undefined if the client disconnected before the response. */
  readonly status?: number;
  /** Error code of a failed request. */
  readonly code?: string;
  readonly request?: string;
}

export type AuditLine = AuditEvent & { readonly n: number; readonly previous: string };

export function digestOf(line: Buffer): string {
  return createHash("sha256").update(line).digest("hex");
}

const endingBytes = `,"mac":"${"0".repeat(64)}"}`.length;

export class ChainKey {
  readonly #key: KeyObject;

  constructor(rootKey: string) {
    this.#key = deriveKey(rootKey, "sealdex-server/1/audit");
  }

  /** Encodes a line of log `id`, without its line feed. */
  seal(id: string, { n, previous, ...event }: AuditLine): Buffer {
    const json = asciiJson(JSON.stringify({ n, previous, ...event })).slice(0, -1);
    return Buffer.from(json + this.#ending(id, Buffer.from(json)));
  }

  /** Undefined unless `line` was sealed for log `id`. */
  open(id: string, line: Buffer): AuditLine | undefined {
    if (line.length < endingBytes) return undefined;
    const ending = Buffer.from(this.#ending(id, line.subarray(0, -endingBytes)));
    if (!timingSafeEqual(line.subarray(-endingBytes), ending)) return undefined;
    return JSON.parse(line.toString("latin1")) as AuditLine;
  }

  /** Seals the number of lines of log `id`, so that storage cannot forge it. */
  sealCount(id: string, count: number): Buffer {
    return Buffer.from(`${count} ${this.#mac(`end ${id} ${count}`)}`);
  }

  /** Undefined unless `sealed` belongs to log `id`. */
  openCount(id: string, sealed: Uint8Array): number | undefined {
    const count = Number.parseInt(Buffer.from(sealed).toString("latin1"), 10);
    return this.sealCount(id, count).equals(sealed) ? count : undefined;
  }

  #ending(id: string, json: Buffer): string {
    return `,"mac":"${this.#mac(`line ${id} `, json)}"}`;
  }

  #mac(text: string, bytes: Uint8Array = Buffer.alloc(0)): string {
    return createHmac("sha256", this.#key).update(text).update(bytes).digest("hex");
  }
}
