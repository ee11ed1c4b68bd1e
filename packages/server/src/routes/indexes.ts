/** `/v1/indexes/*`: creating, describing, training, listing and deleting indexes. */

import type { IncomingHttpHeaders } from "node:http";
import {
  decodeAddress,
  decodeAnchorCheck,
  decodeCreateIndex,
  decodeRotateKey,
  decodeTrain,
  descriptionForm,
  encodeDescription,
  encodeErasure,
  encodeErasureReceipt,
  nameTexts,
} from "sealdex/wire";
import type { Server } from "../http/http-server.js";
import { checkMayRead } from "../access/caller.js";
import { ownerOf } from "../http/request-address.js";
import { sendJson } from "../http/results.js";
import { Semaphore } from "../http/semaphore.js";
import * as schemas from "../schemas/schemas.js";
import { describeIndex } from "../schemas/describe-index.js";
import { erase, listNamespaces, readReceipt } from "../schemas/namespaces.js";
import type { Services } from "./services.js";

/** Memory of a name: 128 characters of two bytes, and the string object. */
const nameBytes = 300;

/** The same for a namespace of 512 characters. */
const namespaceBytes = 1100;

export function addIndexRoutes(app: Server, { client, indexes, limits, reading }: Services): void {
  // Limits the names of all indexes in memory to one request at a time.
  const listing = new Semaphore(1, limits.waitingMax);

  app.post("/v1/indexes/create", { schema: schemas.createIndex }, async ({ body }) => {
    const options = decodeCreateIndex(body);
    const shards = body.shards ?? undefined;
    await (shards === undefined
      ? client.createIndex(options)
      : client.createCollection({ ...options, shards }));
    return { status: "success", message: `Index '${options.indexName}' created successfully` };
  });

  app.post("/v1/indexes/describe", { schema: describeIndex }, async ({ body, headers }) => {
    const description = await indexes.use(decodeAddress(body), (index) => index.describe());
    const form = formOf(headers);
    const encoded = encodeDescription(description);
    return form === undefined ? encoded : descriptionForm(encoded, form);
  });

  app.post(
    "/v1/indexes/train",
    { schema: schemas.trainIndex, bodyLimit: limits.queryBytesMax, config: { isLong: true } },
    async ({ body }) => {
      const address = decodeAddress(body);
      await indexes.use(address, (index) => index.train(decodeTrain(body)));
      return { status: "success", message: `Index '${address.indexName}' trained successfully` };
    },
  );

  app.post(
    "/v1/indexes/compact",
    { schema: schemas.compactIndex, config: { isLong: true } },
    async ({ body }) => {
      const address = decodeAddress(body);
      await indexes.use(address, (index) => index.compact());
      return { status: "success", message: `Index '${address.indexName}' compacted successfully` };
    },
  );

  app.post(
    "/v1/indexes/split",
    { schema: schemas.splitShards, config: { isLong: true } },
    async ({ body }) => {
      const address = decodeAddress(body);
      await client.splitShards({ ...address, shards: body.shards });
      return { status: "success", message: `Shards of collection '${address.indexName}' split successfully` };
    },
  );

  app.post("/v1/indexes/rotate_key", { schema: schemas.rotateKey }, async ({ body }) => {
    const address = decodeAddress(body);
    await indexes.rotateKey(address, decodeRotateKey(body).newKey);
    return { status: "success", message: `Key of index '${address.indexName}' rotated successfully` };
  });

  app.post(
    "/v1/indexes/reencrypt",
    { schema: schemas.reencrypt, config: { isLong: true } },
    async ({ body }) => {
      const address = decodeAddress(body);
      await indexes.use(address, (index) => index.reencrypt());
      return { status: "success", message: `Index '${address.indexName}' reencrypted successfully` };
    },
  );

  app.post("/v1/indexes/namespaces", { schema: listNamespaces }, async ({ body }, reply) =>
    indexes.use(decodeAddress(body), async (index) => {
      const { signal, reserveBytes } = reading(reply);
      const names = await index.namespaces.list({ signal });
      await reserveBytes(names.length * namespaceBytes);
      return sendJson(reply, nameTexts(names, "namespaces"));
    }),
  );

  app.post("/v1/indexes/erase", { schema: erase }, async ({ body, caller }) => {
    checkMayRead(caller, "erase");
    return encodeErasureReceipt(
      await indexes.use(decodeAddress(body), (index) => index.erase(body.namespace)),
    );
  });

  app.post("/v1/indexes/read_receipt", { schema: readReceipt }, async ({ body }) =>
    encodeErasure(
      await indexes.use(decodeAddress(body), (index) => index.namespaces.readReceipt(body.receipt)),
    ),
  );

  app.post("/v1/indexes/anchor", { schema: schemas.anchor }, async ({ body }) => {
    const address = decodeAddress(body);
    const { anchor } = decodeAnchorCheck(body);
    if (anchor === undefined) return { anchor: await indexes.use(address, (index) => index.anchor()) };
    const index = await client.loadIndex({ ...address, anchor });
    return { anchor: await index.anchor() };
  });

  app.post("/v1/indexes/delete", { schema: schemas.deleteIndex }, async ({ body }) => {
    const address = decodeAddress(body);
    await (body.collection === true ? client.deleteCollection(address) : client.deleteIndex(address));
    return { status: "success", message: `Index '${address.indexName}' deleted successfully` };
  });

  app.get("/v1/indexes/list", { schema: schemas.listIndexes }, async (request, reply) => {
    const { caller, query } = request;
    const { signal, reserveBytes } = reading(reply);
    const own = caller === undefined ? new Set<string>() : caller.indexes && new Set(caller.indexes);
    const leave = await listing.acquire(ownerOf(request), 1, signal);
    try {
      const limit = query.limit === undefined ? undefined : Number(query.limit);
      // The names that a limited key may see can be anywhere among all.
      const names = await client.listIndexes({
        after: query.after,
        signal,
        ...(own === undefined && { limit }),
      });
      const page = own === undefined ? names : names.filter((name) => own.has(name)).slice(0, limit);
      await reserveBytes(page.length * nameBytes);
      return sendJson(reply, nameTexts(page));
    } finally {
      leave();
    }
  });
}

/**
 * The only form of a description for clients that refuse fields of the other: generated clients in
 * Go, which send no other sign of their version. Undefined: both at once.
 */
function formOf(headers: IncomingHttpHeaders): "flat" | "nested" | undefined {
  const wanted = headers["x-describe-form"];
  if (wanted === "flat" || wanted === "nested") return wanted;
  return /^OpenAPI-Generator\/\S+\/go$/i.test(headers["user-agent"] ?? "") ? "nested" : undefined;
}
