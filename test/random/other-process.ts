/** An index that is open in another process, which can be killed at any time: see history-process.mjs. */

import type { OpenIndexOptions } from "../../src/api/vector-index.js";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { StorageLocation, VectorIndex } from "../../src/core.js";
import { SealdexError, type ErrorCode } from "../../src/errors.js";

const program = fileURLToPath(new URL("history-process.mjs", import.meta.url));

interface Reply {
  readonly number: number;
  readonly value?: unknown;
  readonly error?: { readonly code: ErrorCode; readonly message: string };
}

/** What a call ends with if its process was killed. */
export class Killed extends Error {}

export class OtherProcess {
  #child: ChildProcess | undefined;
  #number = 0;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(reason: unknown): void }>();

  /** Opens the index there, in place of the one that was open. Starts the process if it does not run. */
  async open(location: StorageLocation, address: OpenIndexOptions): Promise<VectorIndex> {
    this.#child ??= this.#start();
    await this.#call("open", [{ location, address }]);
    return new Proxy({} as VectorIndex, {
      get: (_, method) =>
        method === "then" ? undefined : (...args: unknown[]) => this.#call(String(method), args),
    });
  }

  async close(): Promise<void> {
    if (this.#child !== undefined) await this.#call("close", []);
  }

  /** Calls that have no answer yet reject with `Killed`. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  #call(method: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const number = this.#number++;
      this.#waiting.set(number, { resolve, reject });
      this.#child?.send({ number, method, args });
    });
  }

  #start(): ChildProcess {
    const child = fork(program, { serialization: "advanced" });
    child.on("message", ({ number, value, error }: Reply) => {
      const call = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (error === undefined) call?.resolve(value);
      else call?.reject(error.code ? new SealdexError(error.code, error.message) : new Error(error.message));
    });
    child.on("exit", () => {
      this.#child = undefined;
      for (const { reject } of this.#waiting.values()) reject(new Killed("the process was killed"));
      this.#waiting.clear();
    });
    return child;
  }
}
