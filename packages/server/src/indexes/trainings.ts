/** The trainings that run in this process, requested or automatic. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";

interface TrainingMessage {
  readonly indexName: string;
  readonly state: "started" | "done" | "failed";
  /** Milliseconds since its start. */
  readonly ms: number;
}

const channelName = "sealdex:training";

export class Trainings {
  readonly #running = new Map<string, number>();
  readonly #listen: (message: unknown) => void;

  /** `onEnd` gets the result of each training and its milliseconds. */
  constructor(onEnd: (result: "done" | "failed", ms: number) => void = () => undefined) {
    this.#listen = (message) => {
      const { indexName, state, ms } = message as TrainingMessage;
      const count = (this.#running.get(indexName) ?? 0) + (state === "started" ? 1 : -1);
      if (count > 0) this.#running.set(indexName, count);
      else this.#running.delete(indexName);
      if (state !== "started") onEnd(state, ms);
    };
    subscribe(channelName, this.#listen);
  }

  /** Names of indexes. */
  get running(): string[] {
    return [...this.#running.keys()];
  }

  close(): void {
    unsubscribe(channelName, this.#listen);
  }
}
