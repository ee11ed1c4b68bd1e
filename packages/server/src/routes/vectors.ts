/** `/v1/vectors/*`: items of an index. */

import type { FastifyReply } from "fastify";
import { type Item, SealdexError, type VectorIndex, type WordField } from "sealdex/core";
import {
  decodeAddress,
  decodeBinaryItems,
  decodeBinaryVectors,
  decodeCountOptions,
  decodeItems,
  decodeListIds,
  decodeListItems,
  decodeOrderedQuery,
  decodeNamespace,
  decodeQuery,
  decodeQueryOptions,
  decodeSelection,
  decodeUpdate,
  decodeUpsertOptions,
  idTexts,
  itemTexts,
  matchTexts,
  pageTexts,
  served,
  topKMax,
  yieldIfDue,
} from "sealdex/wire";
import type { Server } from "../http/http-server.js";
import { checkMayRead } from "../access/caller.js";
import { untilDisconnected, untilTooLong } from "../http/request-end.js";
import { sendJson } from "../http/results.js";
import * as schemas from "../schemas/schemas.js";
import { queryBinary, upsertBinary } from "../schemas/binary.js";
import * as listing from "../schemas/listing.js";
import type { Services } from "./services.js";

type UpsertBody = Parameters<typeof decodeAddress>[0] & Parameters<typeof decodeUpsertOptions>[0];

export function addVectorRoutes(app: Server, { indexes, limits, reading }: Services): void {
  const bodyLimit = limits.queryBytesMax;

  app.post("/v1/vectors/query", { schema: schemas.query, bodyLimit }, ({ body }, reply) => {
    const results = reading(reply);
    const { signal } = results;
    const ordered = decodeOrderedQuery(body);
    if (ordered !== undefined) {
      return indexes.use(decodeAddress(body), async (index) =>
        sendJson(reply, pageTexts(await served(index).listItems({ ...ordered, signal }, results))),
      );
    }
    const query = decodeQuery(body);
    return indexes.use(decodeAddress(body), async (index) => {
      await checkKeepsVectors(query.include, index);
      const topK = await achievable(query.topK, index);
      return sendJson(reply, matchTexts(await served(index).query({ ...query, topK, signal }, results)));
    });
  });

  app.post("/v1/vectors/query_binary", { schema: queryBinary, bodyLimit }, async ({ body }, reply) => {
    const queryVectors = await decodeBinaryVectors(body.batch, yieldIfDue);
    const results = reading(reply);
    const query = { ...decodeQueryOptions(body), queryVectors, signal: results.signal };
    return indexes.use(decodeAddress(body), async (index) => {
      await checkKeepsVectors(query.include, index);
      const topK = await achievable(query.topK, index);
      return sendJson(reply, matchTexts(await served(index).query({ ...query, topK }, results)));
    });
  });

  app.post(
    "/v1/vectors/upsert",
    { schema: schemas.upsert, bodyLimit: limits.bodyBytesMax },
    ({ body }, reply) => store(decodeItems(body), body, reply),
  );

  app.post(
    "/v1/vectors/upsert_binary",
    { schema: upsertBinary, bodyLimit: limits.bodyBytesMax },
    async ({ body }, reply) => store(await decodeBinaryItems(body.batch, yieldIfDue), body, reply),
  );

  async function store(items: readonly Item[], body: UpsertBody, reply: FastifyReply) {
    const options = { ...decodeUpsertOptions(body), signal: untilDisconnected(reply) };
    const { caller } = reply.request;
    if (options.deleteFilter !== undefined) checkMayRead(caller, "delete_filter");
    if (options.skipUnchanged === true) checkMayRead(caller, "skip_unchanged");
    if (options.within !== undefined) checkMayRead(caller, "within");
    const result = await indexes.use(decodeAddress(body), (index) => index.upsert(items, options));
    const message = `${count(items.length, "item")} upserted successfully`;
    return { status: "success", message, ...result };
  }

  app.post(
    "/v1/vectors/update",
    { schema: schemas.updateItems, bodyLimit },
    async ({ body, caller }, reply) => {
      checkMayRead(caller, "update");
      const { selection, change } = decodeUpdate(body);
      const result = await indexes.use(decodeAddress(body), (index) =>
        index.update(selection, change, { ...decodeNamespace(body), signal: untilDisconnected(reply) }),
      );
      return {
        status: "success",
        message: `${count(result.updated, "item")} updated successfully`,
        ...result,
      };
    },
  );

  app.post("/v1/vectors/get", { schema: listing.getItems, bodyLimit }, ({ body }, reply) =>
    indexes.use(decodeAddress(body), async (index) => {
      const include = body.include ?? undefined;
      const results = reading(reply);
      const options = { include, ...decodeNamespace(body), signal: results.signal };
      return sendJson(reply, itemTexts(await served(index).get(body.ids, options, results)));
    }),
  );

  app.post(
    "/v1/vectors/delete",
    { schema: schemas.deleteItems, bodyLimit },
    async ({ body, caller }, reply) => {
      const selection = decodeSelection(body);
      if (selection.filter !== undefined) checkMayRead(caller, "filters");
      await indexes.use(decodeAddress(body), (index) =>
        index.delete(selection, { ...decodeNamespace(body), signal: untilDisconnected(reply) }),
      );
      const what = selection.ids !== undefined ? count(selection.ids.length, "item") : "Matching items";
      return { status: "success", message: `${what} deleted successfully` };
    },
  );

  app.post("/v1/vectors/list_ids", { schema: listing.listIds, bodyLimit }, ({ body }, reply) => {
    const options = decodeListIds(body);
    return indexes.use(decodeAddress(body), async (index) => {
      const results = reading(reply);
      return sendJson(
        reply,
        idTexts(await served(index).listIds({ ...options, signal: results.signal }, results)),
      );
    });
  });

  app.post("/v1/vectors/list", { schema: listing.listItems, bodyLimit }, ({ body }, reply) => {
    const options = decodeListItems(body);
    return indexes.use(decodeAddress(body), async (index) => {
      const results = reading(reply);
      return sendJson(
        reply,
        pageTexts(await served(index).listItems({ ...options, signal: results.signal }, results)),
      );
    });
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

/**
 * If the request asks for more neighbors than a query may return, returns the number of items if
 * that is less.
 */
async function achievable(topK: number | undefined, index: VectorIndex): Promise<number | undefined> {
  if (topK === undefined || topK <= topKMax) return topK;
  return Math.min(topK, Math.max(topKMax, await index.count()));
}

/** The other types keep vectors until they are trained; whether a request is valid must not depend on that. */
async function checkKeepsVectors(
  include: readonly WordField[] | undefined,
  index: VectorIndex,
): Promise<void> {
  if (include?.includes("vector") !== true) return;
  const { type } = await index.describe();
  if (type === "ivfflat") return;
  throw new SealdexError(
    "not_supported",
    `include: expected no vector, since an index of type ${type} keeps codes; decoded is what they say of it`,
  );
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
