/** Where the index of a random history is, and who has it open: clients of this process and, on disk, another process. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EmbeddedClient as EmbeddedClientType, VectorIndex } from "../../src/core.js";
import { systemClock } from "../../src/state/commit/clock.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { LocalLocation } from "../../src/storage/storage-location.js";
import type { Choice } from "./choice.js";
import { HistoryClock } from "./history-clock.js";
import type { OtherProcess } from "./other-process.js";

/** By which the clocks of two clients differ, in milliseconds. */
const skewMsMax = 300_000;

export interface Address {
  readonly indexName: string;
  readonly indexKey: string;
}

/** An index that somebody has open. */
export interface Handle {
  readonly index: VectorIndex;
  /** The client that opened it, if it is in this process. */
  readonly client?: EmbeddedClientType;
  close(): Promise<void>;
}

export class HistoryPlace {
  readonly location: BlobStore | LocalLocation;
  readonly isAutomatic: boolean;
  /** Calls made of all its handles. */
  calls = 0;
  readonly #choice: Choice;
  readonly #other: OtherProcess | undefined;
  /** Of clients that are in use, and were. */
  readonly #clocks: HistoryClock[] = [];
  #ms = 0;

  /** `other`: opens the index, too, so that the place is a folder and time is real. `isAutomatic`: clients train by themselves. */
  static async create(
    choice: Choice,
    other: OtherProcess | undefined,
    isAutomatic: boolean,
  ): Promise<HistoryPlace> {
    const folder = other && (await mkdtemp(join(tmpdir(), "sealdex-fuzz-")));
    const location =
      folder === undefined ? createMemoryStore() : ({ location: "local", path: folder } as const);
    return new HistoryPlace(location, choice, other, isAutomatic);
  }

  private constructor(
    location: BlobStore | LocalLocation,
    choice: Choice,
    other: OtherProcess | undefined,
    isAutomatic: boolean,
  ) {
    this.location = location;
    this.isAutomatic = isAutomatic;
    this.#choice = choice;
    this.#other = other;
  }

  client(): EmbeddedClientType {
    const choice = this.#choice;
    const cacheBytesMax = choice.of([undefined, 1, 20_000, 1_000_000]);
    const clock = new HistoryClock(this.#ms + choice.below(skewMsMax));
    if (this.#other === undefined) this.#clocks.push(clock);
    const options = {
      indexLocation: this.location,
      automaticTraining: this.isAutomatic,
      ...(cacheBytesMax !== undefined && { cacheBytesMax }),
    };
    return new EmbeddedClient(options, this.#other === undefined ? clock : systemClock);
  }

  async load(address: Address): Promise<Handle> {
    const client = this.client();
    const index = this.#counted(await client.loadIndex(address));
    return { client, index, close: () => client.close() };
  }

  /** In the other process. */
  async loadThere(address: Address): Promise<Handle | undefined> {
    const other = this.#other;
    if (other === undefined) return undefined;
    const index = this.#counted(await other.open(this.location as LocalLocation, address));
    return { index, close: () => other.close() };
  }

  #counted(index: VectorIndex): VectorIndex {
    return new Proxy(index, {
      get: (_, method: keyof VectorIndex) => {
        const called = index[method];
        if (typeof called !== "function") return called;
        return (...args: unknown[]) => {
          this.calls++;
          return Reflect.apply(called, index, args) as unknown;
        };
      },
    });
  }

  /** Ends the other process at once. */
  async kill(): Promise<void> {
    await this.#other?.kill();
  }

  /** Lets time pass for every client. On disk it passes by itself. */
  advance(ms: number): void {
    this.#ms += ms;
    for (const clock of this.#clocks) clock.advance(ms);
  }

  async remove(): Promise<void> {
    if ("path" in this.location) await rm(this.location.path, { recursive: true });
  }
}
