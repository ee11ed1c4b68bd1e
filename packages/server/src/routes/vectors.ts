/** `/v1/vectors/*`: items of an index. */

import type { FastifyReply } from "fastify";
import { type BatchQuery, type Item, type ListItemsOptions, SealdexError } from "sealdex/core";
import {
  type AddressBody,
  asksForProfile,
  checkPartial,
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
  type Query,
  type ServedIndex,
  serverTiming,
  topKMax,
  withProfile,
  yieldIfDue,
  type WordField,
} from "sealdex/wire";
import type { Server } from "../http/http-server.js";
import { checkMayRead } from "../access/caller.js";
import { untilDisconnected, untilTooLong } from "../http/request-end.js";
import { neighborBytes, type ReadLimits } from "../http/results.js";
import * as schemas from "../schemas/schemas.js";
import { queryBinary, upsertBinary } from "../schemas/binary.js";
import * as listing from "../schemas/listing.js";
import { readerOf, type Services } from "./services.js";

type UpsertBody = Parameters<typeof decodeAddress>[0] & Parameters<typeof decodeUpsertOptions>[0];

export function addVectorRoutes(app: Server, services: Services): void {
  const { indexes, limits } = services;
  const bodyLimit = limits.queryBytesMax;
  const read = readerOf(services);

  app.post("/v1/vectors/query", { schema: schemas.query, bodyLimit }, ({ body }, reply) => {
    const ordered = decodeOrderedQuery(body);
    if (ordered !== undefined) return list(ordered, body, reply);
    return find(decodeQuery(body), body, reply);
  });

  app.post("/v1/vectors/query_binary", { schema: queryBinary, bodyLimit }, async ({ body }, reply) => {
    const queryVectors = await decodeBinaryVectors(body.batch, yieldIfDue);
    return find({ ...decodeQueryOptions(body), queryVectors }, body, reply);
  });

  function find(query: Query, body: AddressBody, reply: FastifyReply) {
    return read(body, reply, async (index, results) => {
      checkPartial(query);
      await checkKeepsVectors(query.include, index);
      const topK = await achievable(query, index, results);
      const request = { ...query, topK, signal: results.signal };
      const found = await index.query(isTimed(reply) ? withProfile(request) : request, results);
      if (!("profile" in found)) return matchTexts(found);
      reply.header("Server-Timing", serverTiming(found.profile));
      return matchTexts(found.matches, asksForProfile(query) ? found.profile : undefined);
    });
  }

  function list(options: ListItemsOptions, body: AddressBody, reply: FastifyReply) {
    return read(body, reply, async (index, results) =>
      pageTexts(await index.listItems({ ...options, signal: results.signal }, results)),
    );
  }

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
    read(body, reply, async (index, results) => {
      const include = body.include ?? undefined;
      const options = { include, ...decodeNamespace(body), signal: results.signal };
      return itemTexts(await index.get(body.ids, options, results));
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
    return read(body, reply, async (index, results) =>
      idTexts(await index.listIds({ ...options, signal: results.signal }, results)),
    );
  });

  app.post("/v1/vectors/list", { schema: listing.listItems, bodyLimit }, ({ body }, reply) =>
    list(decodeListItems(body), body, reply),
  );

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

/** Whether the client asks for the header `Server-Timing`. */
function isTimed({ request }: FastifyReply): boolean {
  return request.headers["x-profile"] === "true";
}

/** Not more neighbors than there are items. Many count as results before there is room for them. */
async function achievable(
  { topK, queryVectors }: Pick<Partial<BatchQuery>, "topK" | "queryVectors">,
  index: ServedIndex,
  { reserveBytes }: ReadLimits,
): Promise<number | undefined> {
  if (topK === undefined || topK <= topKMax) return topK;
  const most = Math.min(topK, Math.max(topKMax, await index.count()));
  await reserveBytes(neighborBytes * most * (queryVectors?.length ?? 1));
  return most;
}

/** The other types keep vectors until they are trained; whether a request is valid must not depend on that. */
async function checkKeepsVectors(
  include: readonly WordField[] | undefined,
  index: ServedIndex,
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
