/**
 * Limits per minute for requests or failures, by API key, address or another identity of a client.
 */

import type { FastifyReply } from "fastify";
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";
import { SealdexError } from "sealdex/core";
import type { Siblings } from "../processes/siblings.js";

const durationS = 60;

export class RateLimit {
  readonly #max: number;
  readonly #limiter: RateLimiterMemory;
  readonly #topic: string;
  readonly #siblings: Siblings;

  /**
   * `max`: per minute and client, for all processes together; Infinity: no limit. `name`: equal in
   * all processes.
   */
  constructor(name: string, max: number, siblings: Siblings) {
    this.#max = max;
    this.#topic = `limit ${name}`;
    this.#siblings = siblings;
    this.#limiter = new RateLimiterMemory({
      points: Math.min(max, Number.MAX_SAFE_INTEGER),
      duration: durationS,
    });
    siblings.whenTold(this.#topic, (client) => void this.#limiter.penalty(client as string));
  }

  /**
   * Counts one, even beyond the limit. True for the first beyond it in a minute, to be logged; with
   * several processes, for one of the first.
   */
  async count(client: string): Promise<boolean> {
    if (this.#max === Infinity) return false;
    const { consumedPoints } = await this.#add(client);
    return consumedPoints > this.#max && consumedPoints <= this.#max + this.#siblings.count;
  }

  /** Counts one. Throws `rate_limited` beyond the limit. */
  async take(client: string, reply: FastifyReply, what: string): Promise<void> {
    if (this.#max === Infinity) return;
    const state = await this.#add(client);
    this.#refuseBeyond(state, reply, what);
  }

  /** Throws `rate_limited` if the limit is exceeded. Counts nothing. */
  async check(client: string, reply: FastifyReply, what: string): Promise<void> {
    const state = await this.#limiter.get(client);
    if (state !== null) this.#refuseBeyond(state, reply, what);
  }

  async #add(client: string): Promise<RateLimiterRes> {
    const state = await this.#limiter.penalty(client);
    // Excess requests are not relayed, so that a flood is not passed on.
    if (state.consumedPoints <= this.#max + 1) this.#siblings.tell(this.#topic, client);
    return state;
  }

  #refuseBeyond({ consumedPoints, msBeforeNext }: RateLimiterRes, reply: FastifyReply, what: string): void {
    if (consumedPoints <= this.#max) return;
    reply.header("Retry-After", String(Math.max(1, Math.ceil(msBeforeNext / 1000))));
    throw new SealdexError("rate_limited", `${what}: expected at most ${this.#max} per minute`);
  }
}
