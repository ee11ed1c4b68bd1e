/**
 * `POST /v1/vectors/query_metadata`: items that match, without vectors. `GET /v1/embedding-models`.
 */

import type { ListItemsOptions } from "sealdex/core";
import { decodeMetadataQuery, idRowTexts, type ResultSettings, type ServedIndex } from "sealdex/wire";
import type { Server } from "../http/http-server.js";
import * as schemas from "../schemas/metadata.js";
import { readerOf, type Services } from "./services.js";

const pageItemsMax = 10_000;

export function addMetadataRoutes(app: Server, services: Services): void {
  const { limits, models } = services;
  const read = readerOf(services);
  const options = { schema: schemas.queryMetadata, bodyLimit: limits.queryBytesMax };
  app.post("/v1/vectors/query_metadata", options, ({ body }, reply) => {
    const { orderBy, limit, ...which } = decodeMetadataQuery(body);
    return read(body, reply, async (index, results) => {
      const { signal } = results;
      const ids =
        orderBy === undefined
          ? await index.listIds({ ...which, limit, signal }, results)
          : await idsInOrder(index, { ...which, orderBy, include: [], signal }, results, limit);
      return idRowTexts(ids);
    });
  });

  app.get("/v1/embedding-models", { schema: schemas.listModels }, async () => schemas.encodeModels(models));
}

/** Ids of items ordered by metadata fields, at most `limit`. Default: all, within the limits of a request. */
async function idsInOrder(
  index: ServedIndex,
  listing: ListItemsOptions,
  results: ResultSettings,
  limit = Infinity,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  while (ids.length < limit) {
    const page = await index.listItems(
      {
        ...listing,
        limit: Math.min(pageItemsMax, limit - ids.length),
        cursor,
      },
      results,
    );
    for (const { id } of page.items) ids.push(id);
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return ids;
}
