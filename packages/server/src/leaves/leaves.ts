/**
 * Asks leaves for the nearest rows of shards.
 *
 * Each shard has its leaves in an order of its own, by rendezvous hashing (Thaler and Ravishankar, 1998), so that the first two keep its vectors in
 * memory. The second is asked too if the first takes longer than 95 % of requests, and the next ones if both fail.
 */

import { createHash } from "node:crypto";
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import { type ErrorCode, SealdexError } from "sealdex/core";
import {
  decodeError,
  mediaType,
  type SearchShards,
  type ShardAddress,
  type ShardRows,
  type ShardSearch,
} from "sealdex/wire";
import { Agent, request } from "undici";
import { hedged } from "./hedged.js";
import type { FindLeaves } from "./leaf-addresses.js";
import { decodeFound, encodeSearch, leafRoute } from "../schemas/leaf.js";

/** How long a leaf may take. */
const answerMsMax = 30_000;
/** An answer is parsed as one string, and JavaScript has none that is longer. */
const answerBytesMax = 2 ** 29;
/** Until enough requests are timed. */
const firstDelayMs = 50;
const timedMin = 50;
const delayMsMin = 2;
/** Requests after which their times are forgotten, as they were under another load. */
const timedMax = 2000;

/** Another leaf may answer: one of other locations misses shards. A refused API key is the router's own, and no fault of its caller. */
const passing: ReadonlySet<ErrorCode> = new Set([
  "missing_object",
  "storage_unavailable",
  "overloaded",
  "rate_limited",
  "internal",
  "unauthenticated",
  "forbidden",
]);

/** The times of requests to a leaf, and those that failed. */
export interface LeafTimes {
  asked(leaf: string, ms: number, result: "done" | "failed"): void;
}

interface Attempt {
  /** Leaves that failed or are slow. */
  readonly passed: number;
  /** Whether none of them is slow: when all are, as under load, asking more of them would help none. */
  readonly mayHedge: boolean;
  /** Why the last of them failed, if it did. */
  readonly cause?: unknown;
  /** Throws the error again unless it is a reason to leave shards out. Undefined: none is. */
  readonly leaveOut?: (error: unknown) => void;
}

/** Rows, or an error that all leaves would answer with. */
type Answer = { readonly rows: readonly (ShardRows | undefined)[] } | { readonly error: SealdexError };

export class Leaves {
  readonly #find: FindLeaves;
  // With `fetch`, or `request` of Node.js, the client takes about twice the processor time.
  readonly #agent = new Agent({
    headersTimeout: answerMsMax,
    bodyTimeout: answerMsMax,
    maxResponseSize: answerBytesMax,
  });
  readonly #headers: Readonly<Record<string, string>>;
  readonly #times: LeafTimes | undefined;
  /** Of requests that were answered, by the logarithm of the number of their vectors. */
  readonly #recent: RecordableHistogram[] = [];
  #known: readonly string[] = [];
  /** Leaves by preference, per index id of a shard. */
  readonly #ranked = new Map<string, readonly string[]>();

  constructor(find: FindLeaves, apiKey: string, times?: LeafTimes) {
    this.#find = find;
    this.#headers = { "Content-Type": "application/json", "X-API-Key": apiKey, Accept: mediaType };
    this.#times = times;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  /** Throws `storage_unavailable` if no leaf answers for a shard that may not be left out, and other errors of leaves. */
  readonly search: SearchShards = async (search, shards, signal) => {
    const leaves = await this.#find().catch((cause: unknown) => {
      throw new SealdexError("storage_unavailable", "leaves: DNS does not have their addresses", { cause });
    });
    if (leaves !== this.#known) {
      if (leaves.join() !== this.#known.join()) this.#ranked.clear();
      this.#known = leaves;
    }
    const first = { passed: 0, mayHedge: true };
    const { allowPartialAfterMs } = search;
    if (allowPartialAfterMs === undefined) return this.#ask(search, shards, first, signal);
    const deadline = AbortSignal.timeout(allowPartialAfterMs);
    const leaveOut = (error: unknown) => {
      const isLate = deadline.aborted && signal?.aborted !== true;
      if (!isLate && !(error instanceof SealdexError && error.code === "storage_unavailable")) throw error;
    };
    const until = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
    return this.#ask(search, shards, { ...first, leaveOut }, until);
  };

  /** Asks the leaf that comes after some others in the order of each shard, once for all shards of one leaf. */
  async #ask(
    search: ShardSearch,
    shards: readonly ShardAddress[],
    { passed, mayHedge, cause, leaveOut }: Attempt,
    signal: AbortSignal | undefined,
  ): Promise<(ShardRows | undefined)[]> {
    const groups = new Map<string, number[]>();
    for (const [position, shard] of shards.entries()) {
      const leaf = this.#leafOf(shard, passed, cause);
      const group = groups.get(leaf);
      if (group === undefined) groups.set(leaf, [position]);
      else group.push(position);
    }
    const results = shards.map((): ShardRows | undefined => undefined);
    const hasNext = passed + 1 < this.#known.length;
    const asking = Array.from(groups, async ([leaf, positions]) => {
      const own = positions.map((position) => shards[position]);
      const found = await hedged<Answer>(
        (until) => this.#send(leaf, search, own, until),
        async (until, failure) => {
          const next = { passed: passed + 1, mayHedge: mayHedge && failure !== undefined, cause: failure };
          return { rows: await this.#ask(search, own, next, until) };
        },
        mayHedge && hasNext ? delayMs(this.#recentOf(search)) : answerMsMax,
        signal,
      );
      if ("error" in found) throw found.error;
      for (const [i, position] of positions.entries()) results[position] = found.rows[i];
    });
    await Promise.all(leaveOut === undefined ? asking : asking.map((group) => group.catch(leaveOut)));
    return results;
  }

  #leafOf({ indexId }: ShardAddress, passed: number, cause: unknown): string {
    const ranked = this.#ranked.get(indexId) ?? rank(this.#known, indexId);
    this.#ranked.set(indexId, ranked);
    if (passed < ranked.length) return ranked[passed];
    // The router knows whether a later state has other shards.
    if (cause instanceof SealdexError && cause.code === "missing_object") throw cause;
    const detail = `leaves: none of ${passed} answered for a shard`;
    throw new SealdexError("storage_unavailable", detail, { cause });
  }

  /** Rejects if another leaf may answer. */
  async #send(
    leaf: string,
    search: ShardSearch,
    shards: readonly ShardAddress[],
    signal: AbortSignal,
  ): Promise<Answer> {
    const startedAt = performance.now();
    const ended = (result: "done" | "failed") =>
      this.#times?.asked(leaf, performance.now() - startedAt, result);
    try {
      const { statusCode, headers, body } = await request(leaf + leafRoute, {
        dispatcher: this.#agent,
        method: "POST",
        headers: this.#headers,
        body: JSON.stringify(encodeSearch(search, shards)),
        signal,
      });
      const answer = await body.json();
      if (statusCode !== 200) {
        // Another service may have the address that a leaf had.
        const isOfLeaf = headers["x-error-code"] !== undefined;
        throw isOfLeaf ? decodeError(statusCode, answer) : new Error(`leaf: status ${statusCode}`);
      }
      const rows = decodeFound(answer, shards, search);
      this.#recentOf(search).record(Math.max(1, Math.round(1000 * (performance.now() - startedAt))));
      ended("done");
      return { rows };
    } catch (error) {
      // Another leaf was faster, or the caller left.
      if (!signal.aborted) ended("failed");
      if (error instanceof SealdexError && !passing.has(error.code)) return { error };
      throw error;
    }
  }

  #recentOf({ vectors }: ShardSearch): RecordableHistogram {
    return (this.#recent[Math.floor(Math.log2(vectors.length))] ??= createHistogram());
  }
}

/** How long the first leaf may take until the second is asked. */
function delayMs(recent: RecordableHistogram): number {
  if (recent.count < timedMin) return firstDelayMs;
  const ms = recent.percentile(95) / 1000;
  if (recent.count > timedMax) recent.reset();
  return Math.max(delayMsMin, ms);
}

/** By rendezvous hashing: a leaf that comes or goes moves its own shards alone. */
function rank(leaves: readonly string[], indexId: string): string[] {
  const weights = new Map(
    leaves.map((leaf) => [leaf, createHash("sha256").update(`${indexId} ${leaf}`).digest("hex")]),
  );
  return [...leaves].sort((a, b) => ((weights.get(a) ?? "") < (weights.get(b) ?? "") ? 1 : -1));
}
