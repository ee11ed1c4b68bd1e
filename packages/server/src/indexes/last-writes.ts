/** Times of the last write to each index through this process. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { addressIn } from "sealdex/wire";
import type { Server } from "../http/http-server.js";

/** An entry takes about 400 bytes. */
const namesMax = 10_000;

const writing = new Set([
  "/v1/indexes/create",
  "/v1/vectors/upsert",
  "/v1/vectors/upsert_binary",
  "/v1/vectors/update",
  "/v1/vectors/delete",
  "/v1/indexes/erase",
]);

export class LastWrites {
  /** By index name, oldest first: milliseconds since 1970. */
  readonly #times = new Map<string, number>();

  /** Undefined without a write since the start of the process, or if it was forgotten. */
  of(indexName: string): number | undefined {
    return this.#times.get(indexName);
  }

  /** Notes the writes of requests of `scope`. */
  record(scope: Server): void {
    scope.addHook("onResponse", async ({ routeOptions, body }: FastifyRequest, reply: FastifyReply) => {
      const { indexName } = addressIn(body);
      if (reply.statusCode !== 200 || indexName === undefined || !writing.has(routeOptions.url ?? "")) return;
      this.#note(indexName);
    });
  }

  #note(indexName: string): void {
    this.#times.delete(indexName);
    this.#times.set(indexName, Date.now());
    const [oldest] = this.#times.keys();
    if (this.#times.size > namesMax) this.#times.delete(oldest);
  }
}
