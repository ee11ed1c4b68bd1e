/** The other processes of one service, on one machine: what one of them counts or is told, all have to know. */

export interface Siblings {
  /** How many processes the service has, this one included. */
  readonly count: number;
  /** Sends a value, of JSON, to the others; it arrives a little later. */
  tell(topic: string, value: unknown): void;
  whenTold(topic: string, listener: (value: unknown) => void): void;
  /** The answers of the others; without those that end, or do not respond in time. */
  ask(topic: string): Promise<unknown[]>;
  whenAsked(topic: string, answer: () => unknown): void;
}

/** Of a process that has none. */
export const noSiblings: Siblings = {
  count: 1,
  tell: () => undefined,
  whenTold: () => undefined,
  ask: async () => [],
  whenAsked: () => undefined,
};
