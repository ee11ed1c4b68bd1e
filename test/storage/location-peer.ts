/** Another process with a store at the same location. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { StorageLocation } from "../../src/storage/location.js";

export class LocationPeer {
  readonly process: ChildProcess;
  #calls = 0;

  constructor(location: StorageLocation) {
    this.process = fork(join(import.meta.dirname, "location-process.mjs"), {
      serialization: "advanced",
      env: { ...process.env, SEALDEX_TEST_LOCATION: JSON.stringify(location) },
    });
    this.process.setMaxListeners(0);
  }

  /** Starts creates of one key at once; resolves to what each did. */
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
