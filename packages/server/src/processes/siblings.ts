/**
 * The other processes of one service on this machine, with which counts and revocations are shared.
 */

export interface Siblings {
  /** Number of processes, including this one. */
  readonly count: number;
  /** Sends a JSON value to the others, asynchronously. */
  tell(topic: string, value: unknown): void;
  whenTold(topic: string, listener: (value: unknown) => void): void;
  /** Answers of the others, without those that end or do not respond in time. */
  ask(topic: string): Promise<unknown[]>;
  whenAsked(topic: string, answer: () => unknown): void;
}

/** For a single process. */
export const noSiblings: Siblings = {
  count: 1,
  tell: () => undefined,
  whenTold: () => undefined,
  ask: async () => [],
  whenAsked: () => undefined,
};
