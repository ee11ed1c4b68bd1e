/** Object services whose answers have no end, or say that they have: no more is read than was asked for. */

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { finished } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createGcsStore } from "../../src/storage/gcs.js";
import { createS3Store } from "../../src/storage/s3.js";

const mebibyte = 2 ** 20;
const zeros = Buffer.alloc(mebibyte);

let begin: (response: ServerResponse) => unknown = () => undefined;
let settle: (bytes: number) => void = () => undefined;

/** Begins every answer like `begin`, and continues while the client reads. */
const server = createServer((request, response) => {
  request.resume();
  begin(response);
  let bytes = 0;
  const more = () => {
    while (!response.destroyed && response.write(zeros)) bytes += zeros.length;
  };
  response.on("drain", more);
  finished(response).catch(() => settle(bytes));
  more();
});
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)));
afterAll(() => server.close());

/** The beginning of the answers of one call, and the number of bytes of the first that were sent before its connection was closed. */
function answering(status: number, headers: Record<string, string> = {}) {
  begin = (response) => response.writeHead(status, headers);
  return new Promise<number>((resolve) => {
    settle = resolve;
  });
}

const location = () => ({
  bucket: "bucket",
  path: "",
  region: "us-east-1",
  endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  credentials: { accessKey: "a", secretKey: "s" },
});
/** The sockets of both sides hold some of it. */
const sentBytesMax = 64 * mebibyte;

describe.each([
  ["s3", createS3Store],
  ["gcs", createGcsStore],
] as const)("%s", (_, createStore) => {
  test("reads the requested range of an object without an end, and leaves the rest", async () => {
    const store = createStore(location());
    const sent = answering(200);
    const read = await store.read("a", { offset: 5 * mebibyte + 3, length: 2 * mebibyte + 1 });
    expect(read).toHaveLength(2 * mebibyte + 1);
    expect(await sent).toBeLessThan(sentBytesMax);
    await store.close();
  });

  test("takes no memory because a header says how much there is", async () => {
    const store = createStore(location());
    void answering(200, { "content-length": String(2 ** 40) });
    expect((await store.read("a", { offset: 0, length: 100 }))?.buffer.byteLength).toBe(100);
    void answering(206, { "content-length": String(2 ** 40), "content-range": `bytes 0-99/${2 ** 40}` });
    await expect(store.read("a", { offset: 0, length: 100 })).rejects.toThrow("another part of the object");
    await store.close();
  });

  test.each([200, 403])("cuts off a list and an error without an end, of status %i", async (status) => {
    const store = createStore(location());
    const sent = answering(status, { "content-type": "application/xml" });
    await expect(store.list("")).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(await sent).toBeLessThan(sentBytesMax);
    await store.close();
  });
});
