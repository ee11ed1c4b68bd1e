/** `GET /v1/indexes/list`: all names as the specification has them, in pages if they are many. */

import { afterEach, expect, test } from "vitest";
import type { Limits } from "../../packages/server/src/http/limits.js";
import { createClient } from "../../src/core.js";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
afterEach(() => service.close());

const names = ["a b", "ä", "index 1", "z/?&=%"];
const start = async (limits: Partial<Limits> = {}) => {
  service = await startService({ limits });
  for (const index_name of names) await service.newIndex({ index_name });
};
const sorted = [...names].sort();
const list = async (query: string) => {
  const { status, body } = await service.get(`/v1/indexes/list${query}`);
  return status === 200 ? body : status;
};

test("names come at once, or as many as are asked for after a name", async () => {
  await start();
  expect(await list("")).toEqual({ indexes: sorted });
  expect(await list("?limit=2")).toEqual({ indexes: sorted.slice(0, 2) });
  expect(await list(`?limit=2&after=${encodeURIComponent(sorted[1])}`)).toEqual({ indexes: sorted.slice(2) });
  expect(await list("?after=aaa&limit=1000000")).toEqual({ indexes: sorted.filter((name) => name > "aaa") });
  expect(await list("?limit=0")).toEqual({ indexes: [] });
});

test.each(["?limit=-1", "?limit=x", "?limit=1e3", "?limit=1&limit=2", "?limit=", "?limit=99999999999"])(
  "%s is refused",
  async (query) => {
    await start();
    expect(await list(query)).toBe(422);
  },
);

test("more names than results may have are refused, saying how to ask for less", async () => {
  await start({ resultBytesMax: 1000 });
  expect(await service.get("/v1/indexes/list")).toMatchObject({
    status: 413,
    body: { code: "too_large", detail: expect.stringMatching(/1000 bytes.*in pages, with limit and after$/) },
  });
  expect(await list("?limit=3")).toEqual({ indexes: sorted.slice(0, 3) });
});

test("the client takes a limit and a name to continue from, and refuses others", async () => {
  await start();
  await using client = createClient(service.address);
  expect(await client.listIndexes({ limit: 2 })).toEqual(sorted.slice(0, 2));
  expect(await client.listIndexes({ after: sorted[0], limit: 2 })).toEqual(sorted.slice(1, 3));
  expect(await client.listIndexes({ after: sorted[2] })).toEqual(sorted.slice(3));
  expect(await client.listIndexes({ limit: 0 })).toEqual([]);
  for (const options of [{ limit: -1 }, { limit: 1.5 }, { limit: Infinity }, { after: 1 as never }]) {
    await expect(client.listIndexes(options)).rejects.toMatchObject({ code: "invalid_request" });
  }
});

test("the client lists in pages if one answer is too large", async () => {
  const asked: string[] = [];
  service = await startService();
  for (const index_name of names) await service.newIndex({ index_name });
  await using client = createClient(service.address);
  const real = globalThis.fetch;
  // A service whose responses hold 2 names: pages are the client's own, so their size is its constant.
  globalThis.fetch = async (url, init) => {
    const { pathname, search, searchParams } = new URL(String(url));
    asked.push(pathname + search);
    if (searchParams.get("limit") === null) {
      return Response.json({ status_code: 413, code: "too_large", detail: "results" }, { status: 413 });
    }
    return real(url, init);
  };
  try {
    expect(await client.listIndexes()).toEqual(sorted);
  } finally {
    globalThis.fetch = real;
  }
  expect(asked).toEqual(["/v1/indexes/list", "/v1/indexes/list?limit=10000&after="]);
});
