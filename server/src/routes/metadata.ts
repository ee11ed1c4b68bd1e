/** `POST /v1/vectors/query_metadata`: which items match, without vectors. `GET /v1/embedding-models`. */

import type { FastifyReply } from "fastify";
import { decodeAddress, decodeMetadataQuery, idRowTexts, served } from "sealdex/wire";
import type { Server } from "../http-server.js";
import type { OpenIndexes } from "../open-indexes.js";
import { idsInOrder } from "../order-by.js";
import { type ReadLimits, sendJson } from "../results.js";
import * as schemas from "../schemas/metadata.js";

interface Services {
  readonly indexes: OpenIndexes;
  readonly bodyLimit: number;
  readonly reading: (reply: FastifyReply) => ReadLimits;
  /** Names of embedding models that the operator allows. */
  readonly models: readonly string[];
}

export function addMetadataRoutes(app: Server, { indexes, bodyLimit, reading, models }: Services): void {
  const options = { schema: schemas.queryMetadata, bodyLimit };
  app.post("/v1/vectors/query_metadata", options, ({ body }, reply) => {
    const { orderBy, limit, ...which } = decodeMetadataQuery(body);
    return indexes.use(decodeAddress(body), async (index) => {
      const limits = reading(reply);
      const { signal } = limits;
      const ids =
        orderBy === undefined
          ? await served(index).listIds({ ...which, limit, signal }, limits)
          : await idsInOrder(served(index), { ...which, orderBy, include: [], signal }, limits, limit);
      return sendJson(reply, idRowTexts(ids));
    });
  });

  app.get("/v1/embedding-models", { schema: schemas.listModels }, async () => schemas.encodeModels(models));
}
