/** `/v1/vectors/*`: what is in an index. */

import {
  decodeAddress,
  decodeItems,
  decodeQuery,
  decodeSelection,
  encodeMatches,
  encodeStoredItem,
} from "sealdex/wire";
import { untilDisconnected } from "../disconnected.js";
import type { Server } from "../http-server.js";
import type { Limits } from "../limits.js";
import type { OpenIndexes } from "../open-indexes.js";
import * as schemas from "../schemas.js";

export function addVectorRoutes(app: Server, indexes: OpenIndexes, limits: Limits): void {
  const bodyLimit = limits.queryBytesMax;

  app.post("/v1/vectors/query", { schema: schemas.query, bodyLimit }, async ({ body }, reply) => {
    const query = decodeQuery(body);
    const signal = untilDisconnected(reply);
    return indexes.use(decodeAddress(body), async (index) => {
      if (query.queryVectors !== undefined) {
        return { results: (await index.query({ ...query, signal })).map(encodeMatches) };
      }
      return { results: encodeMatches(await index.query({ ...query, signal })) };
    });
  });

  app.post(
    "/v1/vectors/upsert",
    { schema: schemas.upsert, bodyLimit: limits.bodyBytesMax },
    async ({ body }, reply) => {
      const items = decodeItems(body);
      await indexes.use(decodeAddress(body), (index) =>
        index.upsert(items, { signal: untilDisconnected(reply) }),
      );
      return { status: "success", message: `${count(items.length, "item")} upserted successfully` };
    },
  );

  app.post("/v1/vectors/get", { schema: schemas.getItems, bodyLimit }, ({ body }, reply) =>
    indexes.use(decodeAddress(body), async (index) => {
      const items = await index.get(body.ids, {
        include: body.include ?? undefined,
        signal: untilDisconnected(reply),
      });
      return { results: items.map(encodeStoredItem) };
    }),
  );

  app.post("/v1/vectors/delete", { schema: schemas.deleteItems, bodyLimit }, async ({ body }, reply) => {
    const selection = decodeSelection(body);
    await indexes.use(decodeAddress(body), (index) =>
      index.delete(selection, { signal: untilDisconnected(reply) }),
    );
    const what = selection.ids !== undefined ? count(selection.ids.length, "item") : "Matching items";
    return { status: "success", message: `${what} deleted successfully` };
  });

  app.post("/v1/vectors/list_ids", { schema: schemas.listIds }, ({ body }, reply) =>
    indexes.use(decodeAddress(body), async (index) => {
      const ids = await index.listIds({
        limit: body.limit ?? undefined,
        after: body.after ?? undefined,
        signal: untilDisconnected(reply),
      });
      return { ids, count: ids.length };
    }),
  );

  app.post("/v1/vectors/num_vectors", { schema: schemas.countItems }, ({ body }, reply) =>
    indexes.use(decodeAddress(body), async (index) => {
      const result = await index.count({ signal: untilDisconnected(reply) });
      return { status: "success", message: `${result} vectors in index '${index.indexName}'`, result };
    }),
  );
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
