/** Limits per minute: of requests, or of failures, per API key, address or whatever else identifies a client. */

import type { FastifyReply } from "fastify";
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";
import { SealdexError } from "sealdex/core";

const durationS = 60;

export class RateLimit {
  readonly #max: number;
  readonly #limiter: RateLimiterMemory;

  /** `max`: how many per minute and client. Infinity: no limit. */
  constructor(max: number) {
    this.#max = max;
    this.#limiter = new RateLimiterMemory({
      points: Math.min(max, Number.MAX_SAFE_INTEGER),
      duration: durationS,
    });
  }

  /** Counts one, even beyond the limit. Whether this is the first beyond it in this minute, which is worth an alarm. */
  async count(client: string): Promise<boolean> {
    if (this.#max === Infinity) return false;
    const { consumedPoints } = await this.#limiter.penalty(client);
    return consumedPoints === this.#max + 1;
  }

  /** Counts one. Throws `rate_limited` beyond the limit. */
  async take(client: string, reply: FastifyReply, what: string): Promise<void> {
    if (this.#max === Infinity) return;
    const state = await this.#limiter.penalty(client);
    this.#refuseBeyond(state, reply, what);
  }

  async isExceeded(client: string): Promise<boolean> {
    const state = await this.#limiter.get(client);
    return state !== null && state.consumedPoints > this.#max;
  }

  /** Throws `rate_limited` if the limit is exceeded. Counts nothing. */
  async check(client: string, reply: FastifyReply, what: string): Promise<void> {
    const state = await this.#limiter.get(client);
    if (state !== null) this.#refuseBeyond(state, reply, what);
  }

  #refuseBeyond({ consumedPoints, msBeforeNext }: RateLimiterRes, reply: FastifyReply, what: string): void {
    if (consumedPoints <= this.#max) return;
    reply.header("Retry-After", String(Math.max(1, Math.ceil(msBeforeNext / 1000))));
    throw new SealdexError("rate_limited", `${what}: expected at most ${this.#max} per minute`);
  }
}
