/** Object services at an endpoint that is another server's: refused at once, with a reason. */

import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { openLocation } from "../../src/storage/location.js";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function serve(answer: RequestListener) {
  const seen = { connections: 0, requests: 0 };
  const server = createServer((request, response) => {
    seen.requests++;
    answer(request, response);
  });
  servers.push(server.on("connection", () => seen.connections++));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

describe.each(["s3", "gcs"] as const)("%s", (location) => {
  const open = (endpoint: string) =>
    openLocation({ location, bucket: "bucket", endpoint, accessKey: "a", secretKey: "hunter2" });

  test("a server without TLS", async () => {
    const { host, seen } = await serve((_, response) => response.end());
    const store = open(`https://${host}`);
    await expect(store.list("")).rejects.toMatchObject({
      code: "storage_unavailable",
      message: expect.stringMatching(/does the endpoint begin with http:/),
      cause: expect.objectContaining({ code: "NO_TLS", isRefusal: true }),
    });
    expect(seen).toEqual({ connections: 1, requests: 0 });
    await store.close();
  });

  test("a page of a website is no empty list", async () => {
    const { host, seen } = await serve((_, response) => response.end("<html>Welcome.</html>"));
    const store = open(`http://${host}`);
    await expect(store.list("")).rejects.toThrow(/failed with a list that cannot be read/);
    expect(seen.requests).toBe(1);
    await store.close();
  });

  test("a bucket of another region", async () => {
    const { host, seen } = await serve((_, response) =>
      response.writeHead(301).end("<Error><Code>PermanentRedirect</Code></Error>"),
    );
    const store = open(`http://${host}`);
    await expect(store.list("")).rejects.toThrow(/status 301/);
    expect(seen.requests).toBe(1);
    await store.close();
  });

  test("a service whose code has a dot", async () => {
    const { host } = await serve((_, response) =>
      response.writeHead(403).end("<Error><Code>Account.Suspended</Code></Error>"),
    );
    const store = open(`http://${host}`);
    await expect(store.list("")).rejects.toThrow(/Account\.Suspended/);
    await store.close();
  });
});
