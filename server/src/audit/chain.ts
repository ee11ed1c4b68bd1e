/**
 * The lines of an audit log: JSON, each with its number and a MAC over itself and the MAC of the line before. So a line that
 * is removed, changed, moved or added shows. The key is derived from the root key: an attacker who can write to the log cannot
 * compute a MAC. FORMAT.md §9.
 */

import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { deriveKey } from "../root-key.js";

export interface AuditEvent {
  /** ISO 8601. */
  readonly at: string;
  /** The id of an API key, `root`, `operator-1`, `command line`, or `service`. Undefined: no valid API key. */
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

/** Where a chain ends: how many lines it has, and the MAC of the last. */
export interface ChainEnd {
  readonly count: number;
  readonly mac: string;
}

const label = "sealdex-server/1/audit";

export class ChainKey {
  readonly #key: KeyObject;

  constructor(rootKey: string) {
    this.#key = deriveKey(rootKey, label);
  }

  /** The end of an empty chain. `id`: of the chain, so that no line passes for one of another. */
  begin(id: string): ChainEnd {
    return { count: 0, mac: this.#mac(`chain ${id}`) };
  }

  /** The next line, with its line feed, and where the chain ends then. */
  append({ count, mac }: ChainEnd, event: AuditEvent): { readonly line: string; readonly end: ChainEnd } {
    const json = JSON.stringify({ n: count + 1, ...event });
    const next = this.#mac(`line ${mac} ${json}`);
    return { line: `${json.slice(0, -1)},"mac":"${next}"}\n`, end: { count: count + 1, mac: next } };
  }

  /** Where the chain ends after `line`; undefined if that is not its next line. */
  accept({ mac }: ChainEnd, line: string): ChainEnd | undefined {
    const [, begin, found] = /^(\{"n":\d+,.*),"mac":"([0-9a-f]{64})"\}$/.exec(line) ?? [];
    if (begin === undefined) return undefined;
    const expected = this.#mac(`line ${mac} ${begin}}`);
    if (!timingSafeEqual(Buffer.from(expected), Buffer.from(found))) return undefined;
    const { n } = JSON.parse(line) as { n: number };
    return { count: n, mac: found };
  }

  /** What storage keeps: it can neither read nor invent the end of a chain. */
  sealEnd(id: string, { count, mac }: ChainEnd): string {
    return `${count} ${mac} ${this.#mac(`end ${id} ${count} ${mac}`)}`;
  }

  /** Undefined unless `text` was sealed for this chain. */
  openEnd(id: string, text: string): ChainEnd | undefined {
    const [, digits, mac, seal] = /^(\d{1,15}) ([0-9a-f]{64}) ([0-9a-f]{64})$/.exec(text) ?? [];
    if (digits === undefined) return undefined;
    const expected = this.#mac(`end ${id} ${digits} ${mac}`);
    return timingSafeEqual(Buffer.from(expected), Buffer.from(seal))
      ? { count: Number(digits), mac }
      : undefined;
  }

  #mac(text: string): string {
    return createHmac("sha256", this.#key).update(text).digest("hex");
  }
}
