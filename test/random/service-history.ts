/** Random requests of several clients to two processes of one service, and what a plain model says of the answers. */

import { expect } from "vitest";
import { generateKey } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { type Answer, type RunningService, startService } from "../http/service.js";
import { type Choice, createChoice } from "./choice.js";
import { oddBody, oddText, routes } from "./odd-requests.js";
import { ServiceAccess } from "./service-access.js";
import { checkBodyBorder, checkBorder } from "./service-borders.js";
import { type Address, limits, type Send, ServiceTenant } from "./service-tenant.js";

const tenantsMax = 3;

export class ServiceHistory {
  requests = 0;
  /** Services that were started, each at an address of its own. */
  services = 0;
  #made = 0;
  readonly #choice: Choice;
  readonly #store = createMemoryStore();
  readonly #rootKey = generateKey();
  readonly #access: ServiceAccess;
  readonly #tenants: ServiceTenant[] = [];
  #services: RunningService[] = [];
  /** What random bodies are sent to: nothing is known of it but that it answers. */
  #scratch: Address | undefined;
  /** Of vectors of two numbers, for requests at the limits. */
  #borders: Address | undefined;

  constructor(choice: Choice) {
    this.#choice = choice;
    this.#access = new ServiceAccess(this.#ownChoice());
  }

  /** Runs so many rounds, in each of which every client makes a request, all at once. */
  async run(rounds: number): Promise<void> {
    this.#services = [await this.#start(), await this.#start()];
    try {
      const config = { index_config: { type: "ivfflat", dimension: 2 } };
      this.#borders = await this.#newIndex(this.#service, config);
      for (let round = 0; round < rounds; round++) {
        if (this.#choice.chance(0.05)) await this.#restart();
        if (this.#choice.chance(0.05)) await this.#replaceTenant();
        if (this.#tenants.length < tenantsMax) await this.#addTenant();
        const own = this.#tenants.map((tenant) => tenant.request(this.#sender(tenant.address)));
        await Promise.all([...own, this.#odd(), this.#left(), this.#other()]);
        this.requests++;
        if (this.#choice.chance(0.1)) await this.#aborted();
        // While nobody uses the key.
        if (this.#choice.chance(0.05)) await this.#access.revoke(this.#service);
      }
      for (const tenant of this.#tenants) await tenant.checkAll(this.#sender(tenant.address));
    } finally {
      await Promise.all(this.#services.map((service) => service.close()));
    }
  }

  #start(): Promise<RunningService> {
    this.services++;
    const issuing = { rootKey: this.#rootKey, store: this.#store };
    return startService({ indexLocation: this.#store, automaticTraining: false, limits, issuing });
  }

  /** For one of several clients: what the others choose meanwhile, in whatever order they are answered, does not count. */
  #ownChoice(): Choice {
    return createChoice(this.#choice.below(2 ** 31));
  }

  get #service(): RunningService {
    return this.#choice.of(this.#services);
  }

  /** Sends to either process, under any key that may ask for it. */
  #sender(address: Address): Send {
    const choice = this.#ownChoice();
    return async (path, body) => {
      this.requests++;
      const service = choice.of(this.#services);
      const apiKey = choice.of(this.#access.keysFor(service, path, address));
      return noFault(await service.post(path, body, { "X-API-Key": apiKey }), `${path} ${shown(body)}`);
    };
  }

  async #newIndex(service: RunningService, config: object): Promise<Address> {
    const address = { index_name: `index ${this.#made++} ü/%`, index_key: generateKey() };
    const { status } = await service.post("/v1/indexes/create", { ...address, ...config });
    expect(status).toBe(200);
    return address;
  }

  async #addTenant(): Promise<void> {
    const address = { index_name: `index ${this.#made++} ü/%`, index_key: generateKey() };
    const tenant = new ServiceTenant(address, this.#ownChoice());
    const create = { ...address, ...tenant.config };
    expect(await this.#service.post("/v1/indexes/create", create)).toMatchObject({ status: 200 });
    expect(await this.#service.post("/v1/indexes/create", create)).toMatchObject({ status: 409 });
    this.#tenants.push(tenant);
    await this.#access.issue(this.#service, address);
  }

  /** Its index is deleted, after which nobody finds it. */
  async #replaceTenant(): Promise<void> {
    const tenant = this.#tenants.shift();
    if (tenant === undefined) return;
    const { address } = tenant;
    expect(await this.#service.post("/v1/indexes/delete", address)).toMatchObject({ status: 200 });
    for (const service of this.#services) {
      const { status } = await service.post("/v1/vectors/num_vectors", address);
      expect(status).toBe(404);
      const { body } = await service.get("/v1/indexes/list");
      expect(body.indexes).not.toContain(address.index_name);
    }
  }

  async #restart(): Promise<void> {
    const at = this.#choice.below(this.#services.length);
    await this.#services[at].close();
    this.#services[at] = await this.#start();
  }

  /** A request that concerns no tenant's items. */
  async #other(): Promise<void> {
    const choice = this.#ownChoice();
    const service = this.#service;
    const [{ address }] = this.#tenants;
    const borders = this.#borders ?? address;
    await choice.weighted<() => Promise<void>>([
      [3, () => () => checkBorder(choice, this.#sender(borders), borders)],
      [1, () => () => checkBodyBorder(choice, this.#sender(borders), borders)],
      [2, () => () => this.#access.checkRefusals(service, address)],
      [1, () => () => this.#wrongKey(choice, service, address)],
      [1, () => () => this.#look(choice, service)],
    ])();
  }

  async #wrongKey(choice: Choice, service: RunningService, { index_name }: Address): Promise<void> {
    const path = choice.of(["/v1/vectors/num_vectors", "/v1/indexes/describe", "/v1/indexes/delete"]);
    const answer = await service.post(path, { index_name, index_key: generateKey() });
    expect(answer.body).toMatchObject({ code: "wrong_index_key" });
  }

  async #look(choice: Choice, service: RunningService): Promise<void> {
    const path = choice.of([
      "/v1/health",
      "/v1/health/live",
      "/v1/indexes/list",
      "/v1/indexes/training-status",
    ]);
    expect(await service.get(path)).toMatchObject({ status: 200 });
  }

  /** A write whose client leaves: it is as if it had not been made, or as if it had been waited for. */
  async #aborted(): Promise<void> {
    const tenant = this.#choice.of(this.#tenants);
    const items = tenant.items();
    const at = this.#choice.below(this.#services.length);
    await this.#leave(this.#services[at], "/v1/vectors/upsert", { ...tenant.address, items });
    // A service that stops finishes what it works on.
    await this.#services[at].close();
    this.#services[at] = await this.#start();
    const send = this.#sender(tenant.address);
    const before = [...tenant.plain.items.values()];
    tenant.plain.upsert(items);
    try {
      await tenant.checkAll(send);
    } catch {
      tenant.plain.items.clear();
      for (const item of before) tenant.plain.items.set(item.id, item);
      await tenant.checkAll(send);
    }
  }

  /** A request that may be anything: whatever it is, the answer is of the documented shape and no fault of the service. */
  async #odd(): Promise<void> {
    const choice = this.#ownChoice();
    const service = this.#service;
    const { status } = await service.post("/v1/indexes/describe", this.#scratch ?? {});
    if (status !== 200) this.#scratch = await this.#newIndex(service, {});
    const path = choice.of(routes);
    const address = this.#scratch ?? {};
    const body = choice.chance(0.2) ? oddText(choice) : oddBody(choice, address);
    const answer = noFault(await service.post(path, body), `${path} ${shown(body)}`);
    if (answer.status === 200) return;
    const { status_code, code, detail } = answer.body;
    const shape = [status_code, typeof code, typeof detail];
    expect(shape, shown(body)).toEqual([answer.status, "string", "string"]);
    expect(JSON.stringify(answer.body).length, shown(body)).toBeLessThan(2000);
  }

  /** A client that leaves before it is answered. */
  #left(): Promise<void> {
    return this.#leave(this.#service, this.#choice.of(routes), oddBody(this.#choice, this.#scratch ?? {}));
  }

  async #leave(service: RunningService, path: string, body: object): Promise<void> {
    const controller = new AbortController();
    const leaving = fetch(`${service.baseUrl}${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": service.apiKey },
      body: JSON.stringify(body),
      signal: controller.signal,
    });
    leaving.catch(() => undefined);
    for (let turns = this.#choice.of([0, 1, 2, 5, 20, 100]); turns > 0; turns--)
      await new Promise(setImmediate);
    controller.abort();
    await leaving.then((response) => response.text()).catch(() => undefined);
  }
}

function shown(body: unknown): string {
  return JSON.stringify(body).slice(0, 500);
}

/** Nothing that a client sends is a fault of the service. */
function noFault(answer: Answer, request: string): Answer {
  expect(answer.status, `${request}: ${shown(answer.body)}`).toBeLessThan(500);
  return answer;
}
