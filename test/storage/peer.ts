/** A process with a store of its own, for tests that need several processes. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";
import type { BlobStore } from "../../src/storage/blob-store.js";
import type { StorageLocation } from "../../src/storage/location.js";
import { whole } from "../ranges.js";

export class Peer {
  readonly process: ChildProcess;
  #calls = 0;

  constructor(location: StorageLocation, environment: NodeJS.ProcessEnv = {}) {
    const script = join(import.meta.dirname, "store-process.mjs");
    this.process = fork(script, [JSON.stringify(location)], {
      serialization: "advanced",
      env: { ...process.env, ...environment },
    });
    this.process.setMaxListeners(0);
  }

  /** Starts creates of one key at once; resolves to their outcomes. */
  create(key: string, contents: readonly Uint8Array[]): Promise<boolean[]> {
    const call = ++this.#calls;
    return new Promise((resolve, reject) => {
      const listen = (message: { call: number; won: boolean[] }) => {
        if (message.call !== call) return;
        this.process.off("message", listen).off("exit", fail);
        resolve(message.won);
      };
      const fail = () => reject(new Error("the peer died; was dist/ built?"));
      this.process.on("message", listen).once("exit", fail);
      this.process.send({ call, key, contents });
    });
  }

  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exit = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await exit;
  }
}

/** Of 32 creates of a key from two processes exactly one wins, and its bytes are there. */
export async function raceTwoProcesses(
  location: StorageLocation,
  store: BlobStore,
  environment?: NodeJS.ProcessEnv,
): Promise<void> {
  const peers = [new Peer(location, environment), new Peer(location, environment)];
  try {
    for (let i = 0; i < 30; i++) {
      const key = `race/${i}`;
      const contents = Array.from({ length: 32 }, (_, writer) => Buffer.alloc(50_000, `${i} by ${writer}`));
      const won = await Promise.all([
        peers[0].create(key, contents.slice(0, 16)),
        peers[1].create(key, contents.slice(16)),
      ]);
      const winners = contents.filter((_, writer) => won.flat()[writer]);
      expect(winners).toHaveLength(1);
      expect(Buffer.compare((await store.read(key, whole)) as Uint8Array, winners[0])).toBe(0);
    }
  } finally {
    await Promise.all(peers.map((peer) => peer.kill()));
  }
}
