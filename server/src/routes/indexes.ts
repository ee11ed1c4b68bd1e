/** `/v1/indexes/*`: creating, describing, training, listing and deleting indexes. */

import type { Client } from "sealdex/core";
import {
  decodeAddress,
  decodeAnchorCheck,
  decodeCreateIndex,
  decodeRotateKey,
  decodeTrain,
  encodeDescription,
} from "sealdex/wire";
import type { Server } from "../http-server.js";
import { mayUseIndex } from "../keys/caller.js";
import type { OpenIndexes } from "../open-indexes.js";
import * as schemas from "../schemas.js";

export function addIndexRoutes(app: Server, client: Client, indexes: OpenIndexes): void {
  app.post("/v1/indexes/create", { schema: schemas.createIndex }, async ({ body }) => {
    const options = decodeCreateIndex(body);
    await client.createIndex(options);
    return { status: "success", message: `Index '${options.indexName}' created successfully` };
  });

  app.post("/v1/indexes/describe", { schema: schemas.describeIndex }, ({ body }) =>
    indexes.use(decodeAddress(body), async (index) => encodeDescription(await index.describe())),
  );

  app.post(
    "/v1/indexes/train",
    { schema: schemas.trainIndex, config: { isLong: true } },
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

  app.post("/v1/indexes/rotate_key", { schema: schemas.rotateKey }, async ({ body }) => {
    const address = decodeAddress(body);
    await indexes.rotateKey(address, decodeRotateKey(body).newKey);
    return { status: "success", message: `Key of index '${address.indexName}' rotated successfully` };
  });

  app.post("/v1/indexes/anchor", { schema: schemas.anchor }, async ({ body }) => {
    const address = decodeAddress(body);
    const { anchor } = decodeAnchorCheck(body);
    if (anchor === undefined) return { anchor: await indexes.use(address, (index) => index.anchor()) };
    const index = await client.loadIndex({ ...address, anchor });
    return { anchor: await index.anchor() };
  });

  app.post("/v1/indexes/delete", { schema: schemas.deleteIndex }, async ({ body }) => {
    const address = decodeAddress(body);
    await client.deleteIndex(address);
    return { status: "success", message: `Index '${address.indexName}' deleted successfully` };
  });

  app.get("/v1/indexes/list", { schema: schemas.listIndexes }, async ({ caller }) => {
    const names = await client.listIndexes();
    return { indexes: caller === undefined ? [] : names.filter((name) => mayUseIndex(caller, name)) };
  });
}
