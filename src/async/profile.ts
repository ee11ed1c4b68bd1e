/**
 * Profiles: how one query spends its time, and on how much work. A profile follows its query through the asynchronous context, since
 * each layer down to the storage adds a part. While no query has one, this costs nothing.
 */

import { AsyncLocalStorage } from "node:async_hooks";

/** The stages of a query, in their usual order. */
export type QueryStage =
  | "check"
  | "open"
  | "embed"
  | "choose"
  | "read"
  | "decrypt"
  | "scan"
  | "fetch"
  | "rerank";

/** How one call of `query` spent its time. Times are in milliseconds. */
export interface QueryProfile {
  readonly totalMs: number;
  /**
   * Parts of `totalMs`, which is their sum. `check`: of the arguments, until the call begins;
   * `open`: the newest state of the index; `embed`: the vector of a text or image; `choose`: which
   * lists and rows to scan; `read`: waits for blocks; `decrypt`; `scan`: comparisons with rows;
   * `fetch`: the fields of matches, with waits; `rerank`.
   */
  readonly stagesMs: Readonly<Record<QueryStage, number>>;
  /** Waits for storage. Requests that overlap are one wait. */
  readonly waits: number;
  /** For objects of the index, without repetitions. */
  readonly requests: number;
  readonly bytesRead: number;
  /** Blocks that were in memory, and blocks that were not. */
  readonly cacheHits: number;
  readonly cacheMisses: number;
  /** Inverted lists that were chosen. */
  readonly lists: number;
  /** Rows compared by their codes, and by their vectors. */
  readonly rowsCompared: number;
  readonly rowsRead: number;
  /** Shards of a collection that a query with `allowPartialAfterMs` left out. */
  readonly shardsMissing: number;
}

type Counts = Omit<QueryProfile, "totalMs" | "stagesMs">;
type Writable<T> = { -readonly [K in keyof T]: T[K] };

const noTime = { check: 0, open: 0, embed: 0, choose: 0, read: 0, decrypt: 0, scan: 0, fetch: 0, rerank: 0 };
const nothing = { waits: 0, requests: 0, bytesRead: 0, cacheHits: 0, cacheMisses: 0, lists: 0 };

export class Profile {
  readonly #now: () => number;
  readonly #stagesMs: Record<QueryStage, number> = { ...noTime };
  readonly #counts: Writable<Counts> = { ...nothing, rowsCompared: 0, rowsRead: 0, shardsMissing: 0 };
  #stage: QueryStage = "check";
  #since: number;
  #underWay = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.#since = now();
  }

  /** Counts the time from now on to another stage. Returns the one before. */
  enter(stage: QueryStage): QueryStage {
    const before = this.#stage;
    this.#stagesMs[before] += this.#lap();
    this.#stage = stage;
    return before;
  }

  /** Does work that is not the query's own, and returns how long it took. */
  measure(work: () => void): number {
    this.enter(this.#stage);
    work();
    return this.#lap();
  }

  /** Moves time from the present stage to another one, as far as it has so much. */
  give(ms: number, stage: QueryStage): void {
    const own = this.enter(this.#stage);
    const given = Math.min(ms, this.#stagesMs[own]);
    this.#stagesMs[own] -= given;
    this.#stagesMs[stage] += given;
  }

  add(counts: Partial<Counts>): void {
    for (const [name, count] of Object.entries(counts)) this.#counts[name as keyof Counts] += count;
  }

  /** Counts a request to storage. */
  async request<T>(sent: Promise<T>, bytesOf: (result: T) => number): Promise<T> {
    this.add({ requests: 1, waits: this.#underWay++ === 0 ? 1 : 0 });
    try {
      const result = await sent;
      this.add({ bytesRead: bytesOf(result) });
      return result;
    } finally {
      this.#underWay--;
    }
  }

  finish(): QueryProfile {
    this.enter(this.#stage);
    const totalMs = Object.values(this.#stagesMs).reduce((sum, ms) => sum + ms, 0);
    return { totalMs, stagesMs: { ...this.#stagesMs }, ...this.#counts };
  }

  #lap(): number {
    const since = this.#since;
    this.#since = this.#now();
    return this.#since - since;
  }
}

const profiles = new AsyncLocalStorage<Profile>();
let running = 0;

/** That of the query for which this code runs, if it has one. */
export function currentProfile(): Profile | undefined {
  return running === 0 ? undefined : profiles.getStore();
}

export function enterStage(stage: QueryStage): void {
  currentProfile()?.enter(stage);
}

/** Counts a request to storage. `bytesOf`: the bytes that it has read. */
export function requested<T>(sent: Promise<T>, bytesOf: (result: T) => number): Promise<T> {
  return currentProfile()?.request(sent, bytesOf) ?? sent;
}

/** The result of a query, and its profile. `now`: a steady clock, in milliseconds. */
export async function profiled<T>(work: () => Promise<T>, now: () => number) {
  running++;
  try {
    const profile = new Profile(now);
    const matches = await profiles.run(profile, work);
    return { matches, profile: profile.finish() };
  } finally {
    // While it is enabled, it makes every promise of the process slower.
    if (--running === 0) profiles.disable();
  }
}
