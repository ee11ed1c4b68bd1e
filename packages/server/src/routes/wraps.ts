/** `/v1/indexes/wraps/*`: keys that open an index. */

import { decodeAddress, decodeWrap, encodeWraps } from "sealdex/wire";
import type { Server } from "../http/http-server.js";
import { addWrap, listWraps, revokeWrap } from "../schemas/wraps.js";
import type { Services } from "./services.js";

export function addWrapRoutes(app: Server, { indexes }: Services): void {
  app.post("/v1/indexes/wraps/add", { schema: addWrap }, async (request) => {
    const { body } = request;
    request.subjectWrap = body.name;
    await indexes.use(decodeAddress(body), (index) => index.wraps.add(decodeWrap(body)));
    return { status: "success", message: `Wrap '${body.name}' added successfully` };
  });

  app.post("/v1/indexes/wraps/list", { schema: listWraps }, async ({ body }) =>
    encodeWraps(await indexes.use(decodeAddress(body), (index) => index.wraps.list())),
  );

  app.post("/v1/indexes/wraps/revoke", { schema: revokeWrap }, async (request) => {
    const { body } = request;
    request.subjectWrap = body.name;
    await indexes.use(decodeAddress(body), (index) => index.wraps.revoke(body.name));
    return { status: "success", message: `Wrap '${body.name}' revoked successfully` };
  });
}
