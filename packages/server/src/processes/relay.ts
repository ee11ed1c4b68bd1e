/** Relays messages between the processes, in the supervisor. */

import type { Worker } from "node:cluster";
import type { FromWorker, ToWorker } from "./messages.js";

/** Time limit of answers. */
const answerMsMax = 5000;

interface Question {
  readonly waitingFor: Set<Worker>;
  readonly values: unknown[];
  readonly finish: () => void;
}

export class Relay {
  readonly #workers = new Set<Worker>();
  readonly #questions = new Map<number, Question>();
  #asked = 0;

  add(worker: Worker): void {
    this.#workers.add(worker);
    worker.on("message", (message: FromWorker) => this.#receive(worker, message));
    worker.on("exit", () => {
      this.#workers.delete(worker);
      for (const question of this.#questions.values()) settle(question, worker);
    });
  }

  /** Sends to all processes. */
  send(message: ToWorker): void {
    for (const worker of this.#workers) sendTo(worker, message);
  }

  get workers(): readonly Worker[] {
    return [...this.#workers];
  }

  #receive(sender: Worker, message: FromWorker): void {
    const others = this.workers.filter((worker) => worker !== sender && worker.isConnected());
    switch (message.kind) {
      case "tell":
        for (const worker of others) sendTo(worker, { ...message, kind: "told" });
        break;
      case "ask":
        this.#ask(message.topic, others, (values) =>
          sendTo(sender, { kind: "answers", id: message.id, values }),
        );
        break;
      case "answer": {
        const question = this.#questions.get(message.id);
        if (question === undefined) return;
        if (message.value !== undefined) question.values.push(message.value);
        settle(question, sender);
      }
    }
  }

  #ask(topic: string, others: readonly Worker[], answer: (values: unknown[]) => void): void {
    const id = ++this.#asked;
    const values: unknown[] = [];
    const finish = () => {
      clearTimeout(timer);
      if (this.#questions.delete(id)) answer(values);
    };
    const timer = setTimeout(finish, answerMsMax);
    this.#questions.set(id, { waitingFor: new Set(others), values, finish });
    for (const worker of others) sendTo(worker, { kind: "asked", id, topic });
    if (others.length === 0) finish();
  }
}

function settle({ waitingFor, finish }: Question, worker: Worker): void {
  if (waitingFor.delete(worker) && waitingFor.size === 0) finish();
}

/** A process that has ended needs no message. */
function sendTo(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}
