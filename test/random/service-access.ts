/** API keys of a random history: what each may do, and who is refused. */

import { expect } from "vitest";
import type { RunningService } from "../http/service.js";
import type { Choice } from "./choice.js";
import { routes } from "./odd-requests.js";
import type { Address } from "./service-tenant.js";

interface IssuedKey {
  readonly id: string;
  readonly apiKey: string;
  readonly scopes: readonly string[];
  /** The only index it may be used for. */
  readonly index?: string;
}

const reading = new Set(
  ["query", "get", "list", "list_ids", "num_vectors"].map((verb) => `/v1/vectors/${verb}`),
);
const either = new Set(["/v1/indexes/describe", "/v1/indexes/anchor"]);
const administering = new Set(
  ["delete", "rotate_key", "reencrypt", "wraps/add", "wraps/list", "wraps/revoke"].map(
    (verb) => `/v1/indexes/${verb}`,
  ),
);

/** What a request here may ask for depends on what is stored: only keys that also read are answered then. */
const depending = new Set(["upsert", "update", "delete"].map((verb) => `/v1/vectors/${verb}`));

/** Whether a key with these scopes may make a request. */
function permits(scopes: readonly string[], path: string): boolean {
  if (scopes.includes("admin")) return true;
  if (administering.has(path)) return false;
  if (either.has(path)) return true;
  return scopes.includes(reading.has(path) ? "read" : "write");
}

export class ServiceAccess {
  readonly #choice: Choice;
  readonly #keys: IssuedKey[] = [];

  constructor(choice: Choice) {
    this.#choice = choice;
  }

  /** Issues a key for an index, or for all, over either interface. */
  async issue(service: RunningService, { index_name }: Address): Promise<void> {
    const scopes = this.#choice.of([["read"], ["write"], ["read", "write"]]);
    if (this.#choice.chance(0.5)) {
      const path = `/v1/indexes/${encodeURIComponent(index_name)}/users`;
      const { status, body } = await service.post(path, { permissions: scopes });
      expect(status).toBe(200);
      const { user_id: id, api_key: apiKey } = body as { user_id: string; api_key: string };
      this.#keys.push({ id, apiKey, scopes, index: index_name });
      return;
    }
    const index = this.#choice.chance(0.5) ? index_name : undefined;
    const { status, body } = await service.post("/v1/keys", {
      name: "fuzz",
      scopes,
      ...(index !== undefined && { indexes: [index] }),
    });
    expect(status).toBe(200);
    const { id, api_key: apiKey } = body as { id: string; api_key: string };
    this.#keys.push({ id, apiKey, scopes, ...(index !== undefined && { index }) });
  }

  /** The keys that may make this request: the operator's, and those that were issued. */
  keysFor(service: RunningService, path: string, { index_name }: Address): readonly string[] {
    const fitting = this.#keys.filter(
      ({ scopes, index }) =>
        permits(scopes, path) &&
        (scopes.includes("read") || !depending.has(path)) &&
        (index ?? index_name) === index_name,
    );
    return [service.apiKey, ...fitting.map(({ apiKey }) => apiKey)];
  }

  /** Requests of keys that may not make them are refused, whatever they hold, and change nothing. */
  async checkRefusals(service: RunningService, address: Address): Promise<void> {
    const path = this.#choice.of(routes);
    const body = { ...address, delete_all: true };
    const may = ({ scopes, index }: IssuedKey) =>
      permits(scopes, path) && (index ?? address.index_name) === address.index_name;
    for (const { apiKey, scopes } of this.#keys.filter((key) => !may(key)).slice(0, 3)) {
      const answer = await service.post(path, body, { "X-API-Key": apiKey });
      // Which index a request is for stands in its body, whose shape is looked at first.
      const codes = permits(scopes, path) ? ["forbidden", "invalid_request"] : ["forbidden"];
      expect(codes, path).toContain(answer.body.code);
    }
    const wrong = this.#choice.of(["", "x", `sealdex_${"0".repeat(88)}`, "ü"]);
    const answer = await service.post(path, body, { "X-API-Key": Buffer.from(wrong).toString("latin1") });
    expect(answer.status, path).toBe(401);
  }

  /** Revokes a key, which the process that did it refuses at once; lists of keys hold the others, and no secret. */
  async revoke(service: RunningService): Promise<void> {
    const key = this.#keys.shift();
    if (key === undefined) return;
    const response = await fetch(`${service.baseUrl}/v1/keys/${key.id}`, {
      method: "DELETE",
      headers: { "X-API-Key": service.apiKey },
    });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
    const refused = await service.post("/v1/indexes/describe", {}, { "X-API-Key": key.apiKey });
    expect(refused.status).toBe(401);
    const { body } = await service.get("/v1/keys");
    const listed = (body as { keys: { id: string }[] }).keys.map(({ id }) => id);
    expect(new Set(listed)).toEqual(new Set(this.#keys.map(({ id }) => id)));
    for (const { apiKey } of this.#keys) expect(JSON.stringify(body)).not.toContain(apiKey);
    expect(await this.#listInPages(service)).toEqual(listed);
  }

  async #listInPages(service: RunningService): Promise<string[]> {
    const limit = 1 + this.#choice.below(3);
    const ids: string[] = [];
    for (let after = "0".repeat(16); ;) {
      const { body } = await service.get(`/v1/keys?limit=${limit}&after=${after}`);
      const page = (body as { keys: { id: string }[] }).keys.map(({ id }) => id);
      ids.push(...page);
      if (page.length < limit) return ids;
      after = page[page.length - 1];
    }
  }
}
