/**
 * Indexes kept open between requests, so that each need not read the index record again.
 *
 * An index is found by its name and key, so a wrong key is never served from here. If another
 * process deleted it, or created it again under the same name, it answers `not_found`: it is then
 * closed and opened again.
 */

import { createHmac, randomBytes } from "node:crypto";
import { type Client, type IndexDescription, SealdexError, type VectorIndex } from "sealdex/core";
import { served } from "sealdex/wire";
import type { Limits } from "../http/limits.js";

const sweepMs = 60 * 1000;

interface Address {
  readonly indexName: string;
  /** 64 hexadecimal characters. */
  readonly indexKey: string;
}

/** Number of open indexes, and how long the key of an unused one stays in memory. */
type OpenLimits = Pick<Limits, "openIndexesMax" | "idleIndexMsMax">;

export interface Described {
  readonly description: IndexDescription;
  readonly items: number;
}

export interface LeastRecall extends MeasuredPoint {
  readonly topK: number;
}

type MeasuredPoint = NonNullable<IndexDescription["measuredRecall"]>[number]["points"][number];

interface OpenIndex {
  readonly indexName: string;
  readonly index: Promise<VectorIndex>;
  usedAt: number;
}

export class OpenIndexes {
  readonly #client: Client;
  readonly #openMax: number;
  /** By fingerprint, least recently used first. */
  readonly #open = new Map<string, OpenIndex>();
  readonly #fingerprintKey = randomBytes(32);
  readonly #sweeping: NodeJS.Timeout;

  constructor(client: Client, { openIndexesMax, idleIndexMsMax }: OpenLimits) {
    this.#client = client;
    this.#openMax = openIndexesMax;
    this.#sweeping = setInterval(() => this.#sweep(Date.now() - idleIndexMsMax), sweepMs).unref();
  }

  /** Runs `work` on the index, and opens it if needed. Throws like `loadIndex` and `work`. */
  async use<T>(address: Address, work: (index: VectorIndex) => Promise<T>): Promise<T> {
    const fingerprint = this.#fingerprint(address);
    const known = this.#open.get(fingerprint);
    if (known !== undefined) {
      try {
        return await work(await this.#touch(fingerprint, known));
      } catch (error) {
        if (!(error instanceof SealdexError && error.code === "not_found")) throw error;
        if (this.#open.get(fingerprint) === known) this.#open.delete(fingerprint);
      }
    }
    return work(await this.#load(fingerprint, address));
  }

  get count(): number {
    return this.#open.size;
  }

  /** Undefined for an index that is not open, or does not respond. Does not keep it open. */
  async describe(indexName: string): Promise<Described | undefined> {
    const open = [...this.#open.values()].findLast((each) => each.indexName === indexName);
    if (open === undefined) return undefined;
    try {
      const index = await open.index;
      return { description: await index.describe(), items: await index.count() };
    } catch (error) {
      if (error instanceof SealdexError) return undefined;
      throw error;
    }
  }

  /** Per number of neighbors and declared recall, the measured one of the index that finds the least. */
  async leastRecall(): Promise<LeastRecall[]> {
    const least = new Map<string, LeastRecall>();
    for (const { index } of this.#open.values()) {
      const opened = await index.catch(() => undefined);
      if (opened === undefined) continue;
      for (const { topK, points } of served(opened).measuredRecall()) {
        for (const point of points) {
          const key = `${topK} ${point.recall}`;
          if (point.found < (least.get(key)?.found ?? Infinity)) least.set(key, { topK, ...point });
        }
      }
    }
    return [...least.values()];
  }

  /** Whether the index is open, or being opened, under this key. */
  isOpen(address: Address): boolean {
    return this.#open.has(this.#fingerprint(address));
  }

  /**
   * Rotates the key and closes the index under its old one. Throws like `VectorIndex.rotateKey`.
   */
  async rotateKey(address: Address, newKey: string): Promise<void> {
    try {
      await this.use(address, (index) => index.rotateKey(newKey));
    } finally {
      this.#open.delete(this.#fingerprint(address));
    }
  }

  close(): void {
    clearInterval(this.#sweeping);
    this.#open.clear();
  }

  #load(fingerprint: string, address: Address): Promise<VectorIndex> {
    const open: OpenIndex = {
      indexName: address.indexName,
      index: this.#client.loadIndex(address),
      usedAt: 0,
    };
    open.index.catch(() => {
      if (this.#open.get(fingerprint) === open) this.#open.delete(fingerprint);
    });
    return this.#touch(fingerprint, open);
  }

  #touch(fingerprint: string, open: OpenIndex): Promise<VectorIndex> {
    open.usedAt = Date.now();
    this.#open.delete(fingerprint);
    this.#open.set(fingerprint, open);
    const [oldest] = this.#open.keys();
    if (this.#open.size > this.#openMax) this.#open.delete(oldest);
    return open.index;
  }

  #sweep(usedBefore: number): void {
    for (const [fingerprint, open] of this.#open) {
      if (open.usedAt >= usedBefore) break;
      this.#open.delete(fingerprint);
    }
  }

  /** Keyed, so that a memory dump does not reveal which keys were tried. */
  #fingerprint({ indexName, indexKey }: Address): string {
    return createHmac("sha256", this.#fingerprintKey).update(`${indexKey}${indexName}`).digest("base64");
  }
}
