/** Random requests of several clients to one service, and what a plain model says of the answers. */

import { expect } from "vitest";
import { generateKey } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { type RunningService, startService } from "../http/service.js";
import type { Choice } from "./choice.js";
import { oddBody, oddText, routes } from "./odd-requests.js";

interface Address {
  readonly index_name: string;
  readonly index_key: string;
}

interface StoredItem {
  readonly vector: readonly number[];
  readonly contents?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A client with an index of its own, so that what it finds there depends on its requests alone. */
interface Tenant {
  readonly address: Address;
  readonly items: Map<string, StoredItem>;
}

const tenantsMax = 3;
const dimension = 3;
/** Small, so that requests at and beyond them are quick. */
const limits = {
  bodyBytesMax: 60_000,
  queryBytesMax: 30_000,
  resultBytesMax: 20_000,
  resultsBytesMax: 20_000,
};

export class ServiceHistory {
  requests = 0;
  #made = 0;
  readonly #choice: Choice;
  readonly #store = createMemoryStore();
  readonly #tenants: Tenant[] = [];
  /** What random bodies are sent to: nothing is known of it but that it answers. */
  #scratch: Address | undefined;

  constructor(choice: Choice) {
    this.#choice = choice;
  }

  /** Runs so many rounds, in each of which every client makes a request, all at once. */
  async run(rounds: number): Promise<void> {
    let service = await this.#start();
    try {
      for (let round = 0; round < rounds; round++) {
        if (this.#choice.chance(0.05)) {
          await service.close();
          service = await this.#start();
        }
        if (this.#tenants.length < tenantsMax) {
          const address = await this.#newIndex(service);
          this.#tenants.push({ address, items: new Map() });
        }
        const requests = this.#tenants.map((tenant) => this.#request(service, tenant));
        await Promise.all([...requests, this.#odd(service), this.#left(service)]);
        this.requests += requests.length + 2;
      }
      for (const tenant of this.#tenants) await this.#checkAll(service, tenant);
    } finally {
      await service.close();
    }
  }

  #start(): Promise<RunningService> {
    return startService({ indexLocation: this.#store, limits });
  }

  async #newIndex(service: RunningService): Promise<Address> {
    const address = { index_name: `index ${this.#made++}`, index_key: generateKey() };
    expect(await service.post("/v1/indexes/create", address)).toMatchObject({ status: 200 });
    return address;
  }

  async #request(service: RunningService, tenant: Tenant): Promise<void> {
    const choice = this.#choice;
    await choice.weighted<() => Promise<void>>([
      [4, () => () => this.#upsert(service, tenant)],
      [2, () => () => this.#delete(service, tenant)],
      [3, () => () => this.#get(service, tenant)],
      [3, () => () => this.#query(service, tenant)],
      [2, () => () => this.#list(service, tenant)],
      [1, () => () => this.#count(service, tenant)],
    ])();
  }

  async #upsert(service: RunningService, { address, items }: Tenant): Promise<void> {
    const choice = this.#choice;
    const made = choice.list(choice.below(12), () => ({ id: this.#id(), ...this.#item() }));
    const { status } = await service.post("/v1/vectors/upsert", { ...address, items: made });
    expect(status).toBe(200);
    for (const { id, ...item } of made) items.set(id, item);
  }

  async #delete(service: RunningService, { address, items }: Tenant): Promise<void> {
    const n = this.#choice.below(5);
    const byFilter = this.#choice.chance(0.3);
    const ids = this.#choice.list(this.#choice.below(6), () => this.#id());
    const selection = byFilter ? { filters: { n } } : { ids };
    const { status } = await service.post("/v1/vectors/delete", { ...address, ...selection });
    expect(status).toBe(200);
    const gone = byFilter ? [...items].filter(([, { metadata }]) => metadata.n === n).map(([id]) => id) : ids;
    for (const id of gone) items.delete(id);
  }

  /** Ids may repeat, so that the results are more than a request may have. */
  async #get(service: RunningService, { address, items }: Tenant): Promise<void> {
    const ids = this.#choice.list(this.#choice.of([0, 1, 5, 40]), () => this.#id());
    const answer = await service.post("/v1/vectors/get", { ...address, ids });
    const expected = ids.flatMap((id) => {
      const item = items.get(id);
      return item === undefined ? [] : [{ id, ...item }];
    });
    if (isTooLarge(answer, expected)) return;
    expect(answer).toEqual({ status: 200, body: { results: expected } });
  }

  async #query(service: RunningService, { address, items }: Tenant): Promise<void> {
    const choice = this.#choice;
    const vectors = choice.list(choice.of([1, 1, 4]), () => this.#vector());
    const filters = choice.chance(0.5) ? { n: choice.below(5) } : undefined;
    const top_k = choice.of([0, 1, 5, 10_000]);
    const body = { ...address, query_vectors: vectors, filters, top_k, include: ["distance"] };
    const answer = await service.post("/v1/vectors/query", body);
    const matching = [...items.values()].filter(({ metadata }) => !filters || metadata.n === filters.n);
    const expected = vectors.map((vector) => {
      const distances = matching.map((item) => Math.hypot(...item.vector.map((x, i) => x - vector[i])));
      return distances.sort((a, b) => a - b).slice(0, top_k);
    });
    if (isTooLarge(answer, expected.flat())) return;
    expect(answer.status).toBe(200);
    const lists = answer.body.results as { id: string; distance: number }[][];
    expect(lists.map((list) => list.map(({ distance }) => Math.fround(distance)))).toEqual(
      expected.map((list) => list.map((distance) => expect.closeTo(distance, 3))),
    );
    for (const { id } of lists.flat()) expect(items.has(id)).toBe(true);
  }

  async #list(service: RunningService, { address, items }: Tenant): Promise<void> {
    const limit = this.#choice.of([undefined, 0, 1, 7, 1000]);
    const after = this.#choice.chance(0.5) ? this.#id() : undefined;
    const answer = await service.post("/v1/vectors/list_ids", { ...address, limit, after });
    const ids = [...items.keys()].sort().filter((id) => after === undefined || id > after);
    const page = ids.slice(0, limit);
    expect(answer).toEqual({ status: 200, body: { ids: page, count: page.length } });
  }

  async #count(service: RunningService, { address, items }: Tenant): Promise<void> {
    const answer = await service.post("/v1/vectors/num_vectors", address);
    expect(answer).toMatchObject({ status: 200, body: { result: items.size } });
  }

  async #checkAll(service: RunningService, tenant: Tenant): Promise<void> {
    await this.#count(service, tenant);
    const answer = await service.post("/v1/vectors/list_ids", tenant.address);
    expect(answer.body.ids).toEqual([...tenant.items.keys()].sort());
  }

  /** A request that may be anything: whatever it is, the answer is of the documented shape and no fault of the service. */
  async #odd(service: RunningService): Promise<void> {
    const { status } = await service.post("/v1/indexes/describe", this.#scratch ?? {});
    if (status !== 200) this.#scratch = await this.#newIndex(service);
    const path = this.#choice.of(routes);
    const address = this.#scratch ?? {};
    const body = this.#choice.chance(0.2) ? oddText(this.#choice) : oddBody(this.#choice, address);
    const answer = await service.post(path, body);
    const shown = `${path} ${JSON.stringify(body).slice(0, 500)}`;
    expect(answer.status, shown).toBeLessThan(500);
    if (answer.status === 200) return;
    const { status_code, code, detail } = answer.body;
    expect([status_code, typeof code, typeof detail], shown).toEqual([answer.status, "string", "string"]);
    expect(JSON.stringify(answer.body).length, shown).toBeLessThan(2000);
  }

  /** A client that leaves before it is answered. */
  async #left(service: RunningService): Promise<void> {
    const controller = new AbortController();
    const leaving = fetch(`${service.baseUrl}${this.#choice.of(routes)}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": service.apiKey },
      body: JSON.stringify(oddBody(this.#choice, this.#scratch ?? {})),
      signal: controller.signal,
    });
    for (let turns = this.#choice.below(6); turns > 0; turns--) await new Promise(setImmediate);
    controller.abort();
    await leaving.then((response) => response.text()).catch(() => undefined);
  }

  #id(): string {
    return this.#choice.of(["a", "ä", '"\\', "\u0001", "x".repeat(500)]) + this.#choice.below(15);
  }

  #item(): StoredItem {
    const choice = this.#choice;
    return {
      vector: this.#vector(),
      ...(choice.chance(0.5) && { contents: "text ü ".repeat(choice.of([0, 1, 200])) }),
      metadata: { n: choice.below(5), ...(choice.chance(0.2) && { __proto__x: [null, { a: "ü" }] }) },
    };
  }

  #vector(): number[] {
    const component = () => this.#choice.of([0, 1, -1, 0.5, this.#choice.below(1000) / 64]);
    return this.#choice.list(dimension, component);
  }
}

/** Refused for its size, and rightly: what was asked for is more than a small part of the limit. */
function isTooLarge(
  { status, body }: { status: number; body: object },
  expected: readonly unknown[],
): boolean {
  if (status !== 413) return false;
  expect(body).toMatchObject({ code: "too_large" });
  expect(JSON.stringify(expected).length + 128 * expected.length).toBeGreaterThan(limits.resultBytesMax / 2);
  return true;
}
