/** `/v1/vectors/*`: what is in an index. */

import type { FastifyReply } from "fastify";
import {
  decodeAddress,
  decodeCountOptions,
  decodeItems,
  decodeListIds,
  decodeListItems,
  decodeQuery,
  decodeSelection,
  decodeUpdate,
  decodeUpsertOptions,
  idTexts,
  itemTexts,
  matchTexts,
  pageTexts,
} from "sealdex/wire";
import type { Server } from "../http-server.js";
import type { Limits } from "../limits.js";
import type { OpenIndexes } from "../open-indexes.js";
import { untilDisconnected, untilTooLong } from "../request-end.js";
import { type ReadLimits, sendJson } from "../results.js";
import * as schemas from "../schemas.js";

interface Services {
  readonly indexes: OpenIndexes;
  readonly limits: Limits;
  readonly reading: (reply: FastifyReply) => ReadLimits;
}

export function addVectorRoutes(app: Server, { indexes, limits, reading }: Services): void {
  const bodyLimit = limits.queryBytesMax;

  app.post("/v1/vectors/query", { schema: schemas.query, bodyLimit }, ({ body }, reply) => {
    const query = decodeQuery(body);
    const options = { ...reading(reply), rawMetadata: true };
    return indexes.use(decodeAddress(body), async (index) => {
      const matches =
        query.queryVectors === undefined
          ? await index.query({ ...query, ...options })
          : await index.query({ ...query, ...options });
      return sendJson(reply, matchTexts(matches));
    });
  });

  app.post(
    "/v1/vectors/upsert",
    { schema: schemas.upsert, bodyLimit: limits.bodyBytesMax },
    async ({ body }, reply) => {
      const items = decodeItems(body);
      const options = { ...decodeUpsertOptions(body), signal: untilDisconnected(reply) };
      const result = await indexes.use(decodeAddress(body), (index) => index.upsert(items, options));
      const message = `${count(items.length, "item")} upserted successfully`;
      return { status: "success", message, ...result };
    },
  );

  app.post("/v1/vectors/update", { schema: schemas.updateItems, bodyLimit }, async ({ body }, reply) => {
    const { selection, change } = decodeUpdate(body);
    const result = await indexes.use(decodeAddress(body), (index) =>
      index.update(selection, change, { signal: untilDisconnected(reply) }),
    );
    return { status: "success", message: `${count(result.updated, "item")} updated successfully`, ...result };
  });

  app.post("/v1/vectors/get", { schema: schemas.getItems, bodyLimit }, ({ body }, reply) =>
    indexes.use(decodeAddress(body), async (index) => {
      const include = body.include ?? undefined;
      const items = await index.get(body.ids, { include, ...reading(reply), rawMetadata: true });
      return sendJson(reply, itemTexts(items));
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

  app.post("/v1/vectors/list_ids", { schema: schemas.listIds, bodyLimit }, ({ body }, reply) => {
    const options = decodeListIds(body);
    return indexes.use(decodeAddress(body), async (index) =>
      sendJson(reply, idTexts(await index.listIds({ ...options, ...reading(reply) }))),
    );
  });

  app.post("/v1/vectors/list", { schema: schemas.listItems, bodyLimit }, ({ body }, reply) => {
    const options = { ...decodeListItems(body), rawMetadata: true };
    return indexes.use(decodeAddress(body), async (index) =>
      sendJson(reply, pageTexts(await index.listItems({ ...options, ...reading(reply) }))),
    );
  });

  app.post("/v1/vectors/num_vectors", { schema: schemas.countItems, bodyLimit }, ({ body }, reply) => {
    const options = decodeCountOptions(body);
    return indexes.use(decodeAddress(body), async (index) => {
      const result = await index.count({ ...options, signal: untilTooLong(reply, limits.workMsMax) });
      const which = options.filter === undefined ? "" : "matching ";
      const message = `${result} ${which}vectors in index '${index.indexName}'`;
      return { status: "success", message, result };
    });
  });
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
