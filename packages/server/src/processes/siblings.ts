/** The other processes of one service. The supervisor passes each message to all of them. */

import cluster from "node:cluster";
import { EventEmitter } from "node:events";

export class Siblings {
  readonly count: number;
  readonly #told = new EventEmitter();
  #asked = 0;

  /** `count`: number of processes, including this one. */
  constructor(count = 1) {
    this.count = count;
    cluster.worker?.on("message", ([topic, value]: [string, unknown]) => this.#told.emit(topic, value));
  }

  tell(topic: string, value: unknown): void {
    if (cluster.worker?.isConnected() === true) cluster.worker.send([topic, value]);
  }

  whenTold(topic: string, listener: (value: unknown) => void): void {
    this.#told.on(topic, listener);
  }

  /** Answers of the others, without those that take longer than 5 seconds. */
  async ask(topic: string): Promise<unknown[]> {
    const answers: unknown[] = [];
    if (this.count === 1) return answers;
    const reply = `${topic} ${cluster.worker?.id} ${++this.#asked}`;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 5000);
      this.#told.on(reply, (answer) => {
        if (answers.push(answer) < this.count - 1) return;
        clearTimeout(timer);
        resolve();
      });
      this.tell(`${topic}?`, reply);
    });
    this.#told.removeAllListeners(reply);
    return answers;
  }

  whenAsked(topic: string, answer: () => unknown): void {
    const respond = async (reply: string) => this.tell(reply, await answer());
    this.#told.on(`${topic}?`, (reply: string) => void respond(reply).catch(() => undefined));
  }
}
