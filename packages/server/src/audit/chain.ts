/**
 * The lines of an audit log: JSON in ASCII, each with its number, the digest of the line before it and a MAC of itself under a
 * key that is derived from the root key. A line feed is the only line separator in ASCII, and JSON escapes it. docs/internals/format.md §9.
 */

import { createHash, createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { asciiJson } from "./ascii-json.js";
import { deriveKey } from "../access/root-key.js";

export interface AuditEvent {
  /** ISO 8601. */
  readonly at: string;
  /** The id of an API key, `root`, `operator-1`, or `command line`. Undefined: no valid API key. */
  readonly caller?: string;
  readonly address?: string;
  /** Method and route of a request, or what a command did. */
  readonly action: string;
  readonly index?: string;
  /** The id of the API key that was created or revoked. */
  readonly key?: string;
  /** The name of the wrap that was added or revoked. */
  readonly wrap?: string;
  /** Of HTTP. Undefined: the client left before it was answered. */
  readonly status?: number;
  /** Why it failed, as `SealdexError` has it. */
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

  /** The bytes of a line of log `id`, without its line feed. */
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

  /** What storage keeps of log `id`: it cannot invent a number of lines. */
  sealCount(id: string, count: number): Buffer {
    return Buffer.from(`${count} ${this.#mac(`end ${id} ${count}`)}`);
  }

  /** Undefined unless `sealed` is of log `id`. */
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
