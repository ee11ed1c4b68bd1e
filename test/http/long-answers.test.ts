/** Services whose answers have no end: no more of one is read than the longest that there can be. */

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { finished } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { postKeyRequest } from "../../src/keys/http-provider.js";
import { googleTokens } from "../../packages/server/src/settings/google-token.js";
import { refusal } from "../outcome.js";

const mebibyte = 2 ** 20;
const spaces = Buffer.alloc(mebibyte, " ");

/** Answers without an end, as fast as they are read. `sent`: settles with the bytes of one when its connection is closed. */
async function endlessService(
  write: (response: ServerResponse) => NodeJS.WritableStream = (response) => response,
) {
  let settle: (bytes: number) => void = () => undefined;
  const sent = new Promise<number>((resolve) => {
    settle = resolve;
  });
  const server = createServer((request, response) => {
    request.resume();
    const body = write(response);
    let bytes = 0;
    const more = () => {
      while (!response.destroyed && body.write(spaces)) bytes += spaces.length;
    };
    body.on("drain", more);
    finished(response).catch(() => settle(bytes));
    more();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { host: `127.0.0.1:${port}`, sent, close: () => server.close() };
}

const zipped = (response: ServerResponse) => {
  response.writeHead(200, { "content-encoding": "gzip" });
  const gzip = createGzip({ level: 1 });
  gzip.pipe(response);
  return gzip;
};

test.each([
  ["", undefined],
  [" that is compressed", zipped],
])("the client refuses an answer%s, of 256 MiB, and closes the connection", async (_, write) => {
  const service = await endlessService(write);
  const client = createClient({ baseUrl: `http://${service.host}`, apiKey: "key" });
  await expect(client.loadIndex({ indexName: "a", indexKey: generateKey() })).rejects.toMatchObject(
    refusal("too_large", "expected an answer of at most 268435456 bytes"),
  );
  // The buffers of both sockets may come on top of it.
  expect(await service.sent).toBeLessThan(400 * mebibyte);
  await client.close();
  service.close();
});

test.each<[string, (host: string) => Promise<unknown>]>([
  [
    "a key service",
    (host) => postKeyRequest({ service: "Vault", url: `http://${host}/`, headers: {}, body: {} }),
  ],
  ["a server of tokens", (host) => googleTokens({ GCE_METADATA_HOST: host })()],
])("the answer of %s is read no further than it can be long", async (_, ask) => {
  const service = await endlessService();
  await expect(ask(service.host)).rejects.toMatchObject({ code: "storage_unavailable" });
  expect(await service.sent).toBeLessThan(32 * mebibyte);
  service.close();
});
