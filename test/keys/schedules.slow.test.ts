/**
 * Random schedules of writes, wraps, revocations, rotations, renewals, erasures and crashes against a model: revoked holders read
 * and change no later item, nothing that was erased comes back, and nothing that was acknowledged is lost.
 * `SEALDEX_SCHEDULES`: how many.
 */

import fc from "fast-check";
import { expect, test } from "vitest";
import { createClient, generateKey, SealdexError } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { VectorIndex } from "../../src/api/vector-index.js";
import { faultyStore, mishaps, switchedStore } from "../protocol/faulty-store.js";

const runs = Number(process.env.SEALDEX_SCHEDULES ?? 25);
const indexName = "scheduled";
const names = ["a", "b", "c"] as const;
const namespaces = [undefined, "ann", "bob"] as const;

const holder = fc.nat({ max: names.length - 1 });
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("write" as const),
      by: fc.integer({ min: -1, max: 2 }),
      namespace: fc.constantFrom(...namespaces),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("erase" as const),
      by: fc.integer({ min: -1, max: 2 }),
      namespace: fc.constantFrom("ann", "bob"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("add" as const), who: holder, writes: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("revoke" as const), who: holder }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rotate" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reencrypt" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compact" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
);
const crash = fc.record({ call: fc.nat({ max: 12 }), mishap: fc.constantFrom(...mishaps) });
const schedule = fc.array(fc.tuple(step, fc.option(crash, { freq: 4 })), { minLength: 4, maxLength: 24 });

interface Holder {
  readonly key: string;
  readonly writes: boolean;
  index?: VectorIndex;
}

function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "done",
    (error: unknown) => {
      if (error instanceof SealdexError) return error.code;
      throw error;
    },
  );
}

/** One process for everybody, whose storage fails when a step says so. */
class Run {
  readonly store = createMemoryStore();
  readonly #switched = switchedStore(this.store);
  readonly #client = createClient({ indexLocation: this.#switched, automaticTraining: false });
  readonly #holders = new Map<string, Holder>();
  /** Keys that opened the index once and must not any more, with the open indexes of their holders. */
  readonly #revoked: Holder[] = [];
  /** Ids of acknowledged writes, and their namespaces. */
  readonly #acknowledged = new Map<string, string | undefined>();
  /** Writes that failed may have been made. */
  readonly #possible = new Map<string, string | undefined>();
  #keys: string[] = [generateKey()];
  #owner: VectorIndex | undefined;
  #written = 0;

  async begin(): Promise<void> {
    this.#owner = await this.#client.createIndex({ indexName, indexKey: this.#keys[0] });
  }

  async step(taken: typeof step extends fc.Arbitrary<infer T> ? T : never): Promise<string> {
    const owner = this.#owner as VectorIndex;
    if (taken.kind === "write") {
      return this.#write(taken.by < 0 ? undefined : names[taken.by], taken.namespace, owner);
    }
    if (taken.kind === "erase") {
      return this.#erase(taken.by < 0 ? undefined : names[taken.by], taken.namespace, owner);
    }
    if (taken.kind === "compact") return codeOf(owner.compact());
    if (taken.kind === "add") return this.#add(names[taken.who], taken.writes, owner);
    if (taken.kind === "revoke") return this.#revoke(names[taken.who], owner);
    if (taken.kind === "reencrypt") return codeOf(owner.reencrypt());
    if (taken.kind === "rotate") {
      const next = generateKey();
      const outcome = await codeOf(owner.rotateKey(next));
      if (outcome === "done") {
        this.#revoked.push(...this.#keys.map((key) => ({ key, writes: true })));
        this.#keys = [next];
      } else this.#keys.push(next);
      return outcome;
    }
    for (const one of this.#holders.values()) delete one.index;
    return "done";
  }

  /** A call that goes wrong now and then. */
  async failing(
    taken: Parameters<Run["step"]>[0],
    { call, mishap }: { call: number; mishap: (typeof mishaps)[number] },
  ) {
    this.#switched.target = faultyStore(this.store, call, mishap);
    const outcome = await this.step(taken);
    this.#switched.target = this.store;
    // An interrupted call is repeated by a process that may: then it is as if nothing had happened.
    if (outcome === "storage_unavailable") await this.#recover(taken);
  }

  async check(): Promise<void> {
    const owner = this.#owner as VectorIndex;
    const ids = new Set(await owner.listIds());
    for (const id of this.#acknowledged.keys()) expect(ids.has(id), `${id} was acknowledged`).toBe(true);
    for (const namespace of namespaces.slice(1)) {
      for (const id of await owner.listIds({ namespace })) {
        expect(this.#acknowledged.get(id) ?? this.#possible.get(id)).toBe(namespace);
      }
    }
    for (const id of ids) expect(this.#acknowledged.has(id) || this.#possible.has(id)).toBe(true);
    for (const { key, index } of this.#revoked) {
      const opened = await codeOf(
        this.#client.loadIndex({ indexName, indexKey: key }).then((one) => one.count()),
      );
      expect(opened).toBe("wrong_index_key");
      if (index === undefined) continue;
      expect(await codeOf(index.listIds())).toBe("wrong_index_key");
      const changes = [
        () => index.upsert([{ id: "forbidden", vector: [0, 0] }]),
        () => index.upsert([{ id: "forbidden", vector: [0, 0] }], { namespace: "ann" }),
        () => index.erase("ann"),
      ];
      for (const change of changes) expect(await codeOf(change())).toMatch(/wrong_index_key|^forbidden/);
    }
    for (const { key } of this.#holders.values()) {
      const index = await this.#client.loadIndex({ indexName, indexKey: key });
      expect(new Set(await index.listIds())).toEqual(ids);
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #write(name: string | undefined, namespace: string | undefined, owner: VectorIndex): Promise<string> {
    const id = `w${this.#written++}`;
    const outcome = await this.#change(name, owner, (index, mayWrite) => {
      if (mayWrite) this.#possible.set(id, namespace);
      return index.upsert([{ id, vector: [1, this.#written] }], { namespace });
    });
    if (outcome === "done") this.#acknowledged.set(id, namespace);
    return outcome;
  }

  async #erase(name: string | undefined, namespace: string, owner: VectorIndex): Promise<string> {
    const outcome = await this.#change(name, owner, (index) => index.erase(namespace));
    for (const writes of [this.#acknowledged, this.#possible]) {
      for (const [id, own] of writes) {
        if (own !== namespace) continue;
        // The next erasure finishes a failed one.
        if (outcome === "done" || outcome === "storage_unavailable") this.#acknowledged.delete(id);
        if (outcome === "done") this.#possible.delete(id);
        else if (outcome === "storage_unavailable") this.#possible.set(id, own);
      }
    }
    return outcome;
  }

  /** A change by a holder, if there is one of this name; by the owner if there is no name. */
  async #change(
    name: string | undefined,
    owner: VectorIndex,
    change: (index: VectorIndex, mayWrite: boolean) => Promise<unknown>,
  ): Promise<string> {
    const one = name === undefined ? undefined : this.#holders.get(name);
    if (name !== undefined && one === undefined) return "nobody";
    const outcome = await codeOf(
      (async () => {
        if (one !== undefined) one.index ??= await this.#client.loadIndex({ indexName, indexKey: one.key });
        await change(one?.index ?? owner, one?.writes !== false);
      })(),
    );
    if (one !== undefined && outcome !== "storage_unavailable")
      expect(outcome).toBe(one.writes ? "done" : "forbidden");
    return outcome;
  }

  async #add(name: string, writes: boolean, owner: VectorIndex): Promise<string> {
    if (this.#holders.has(name)) return "done";
    const key = generateKey();
    const outcome = await codeOf(owner.wraps.add({ name, key, access: writes ? "read-write" : "read-only" }));
    if (outcome === "done") this.#holders.set(name, { key, writes });
    return outcome;
  }

  async #revoke(name: string, owner: VectorIndex): Promise<string> {
    const outcome = await codeOf(owner.wraps.revoke(name));
    const one = this.#holders.get(name);
    if (outcome === "done" || outcome === "not_found") {
      this.#holders.delete(name);
      if (one !== undefined) this.#revoked.push(one);
    }
    return outcome;
  }

  async #recover(taken: Parameters<Run["step"]>[0]): Promise<void> {
    for (const key of this.#keys.toReversed()) {
      const outcome = await codeOf(
        this.#client.loadIndex({ indexName, indexKey: key }).then((index) => (this.#owner = index)),
      );
      if (outcome !== "done") continue;
      this.#revoked.push(
        ...this.#keys.filter((other) => other !== key).map((other) => ({ key: other, writes: true })),
      );
      this.#keys = [key];
      break;
    }
    const owner = this.#owner as VectorIndex;
    if (taken.kind === "revoke") await this.#revoke(names[taken.who], owner);
    if (taken.kind === "reencrypt") await owner.reencrypt();
    if (taken.kind === "compact") await owner.compact();
    if (taken.kind === "erase") expect(await this.#erase(undefined, taken.namespace, owner)).toBe("done");
    // A wrap that may have been added has an unknown key: it is revoked.
    if (taken.kind === "add" && !this.#holders.has(names[taken.who])) {
      expect(await codeOf(owner.wraps.revoke(names[taken.who]))).toMatch(/done|not_found/);
    }
  }
}

test(
  "revoked holders read and change no later item, nothing erased comes back, and nothing acknowledged is lost",
  async () => {
    let steps = 0;
    await fc.assert(
      fc.asyncProperty(schedule, async (taken) => {
        const run = new Run();
        await run.begin();
        for (const [one, mishap] of taken) {
          if (mishap === null) await run.step(one);
          else await run.failing(one, mishap);
          steps++;
        }
        await run.check();
        await run.close();
      }),
      { numRuns: runs },
    );
    process.stdout.write(`schedules of keys: ${runs}, ${steps} steps\n`);
  },
  24 * 3_600_000,
);
