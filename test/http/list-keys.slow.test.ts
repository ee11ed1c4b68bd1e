/** `GET /v1/keys` and the users of an index: all at once as far as they fit into one response, or in pages. */

import { afterEach, beforeEach, expect, test } from "vitest";
import { generateKey, openLocation } from "../../src/core.js";
import type { Limits } from "../../server/src/limits.js";
import { type RunningService, startService } from "./service.js";

const rootKey = generateKey();
let service: RunningService;
let users: string;
/** Sorted: those of all keys, and of the users of the index. */
let keyIds: string[];
let userIds: string[];
beforeEach(() => {
  [keyIds, userIds] = [[], []];
});
afterEach(() => service.close());

async function start(limits: Partial<Limits> = {}): Promise<void> {
  const issuing = { rootKey, store: openLocation({ location: "memory" }) };
  service = await startService({ limits, issuing });
  const { index_name } = await service.newIndex();
  users = `/v1/indexes/${encodeURIComponent(index_name)}/users`;
  for (let i = 0; i < 12; i++) {
    const { body } = await service.post("/v1/keys", { name: `key ${i}`, scopes: ["read"], indexes: ["x"] });
    keyIds.push(String(body.id));
    if (i % 3 > 0) continue;
    const user = await service.post(users, { permissions: ["read"] });
    keyIds.push(String(user.body.user_id));
    userIds.push(String(user.body.user_id));
  }
  keyIds.sort();
  userIds.sort();
}

async function list(path: string): Promise<unknown> {
  const { status, body } = await service.get(path);
  if (status !== 200) return status;
  const { keys, users: listed } = body as { keys?: { id: string }[]; users?: { user_id: string }[] };
  return keys?.map(({ id }) => id) ?? listed?.map(({ user_id: id }) => id);
}

test("keys come at once, or as many as are asked for after an id", async () => {
  await start();
  expect(await list("/v1/keys")).toEqual(keyIds);
  expect(await list("/v1/keys?limit=5")).toEqual(keyIds.slice(0, 5));
  expect(await list(`/v1/keys?limit=5&after=${keyIds[4]}`)).toEqual(keyIds.slice(5, 10));
  expect(await list(`/v1/keys?after=${keyIds[10]}&limit=999999999`)).toEqual(keyIds.slice(11));
  expect(await list("/v1/keys?after=ffffffffffffffff")).toEqual([]);
  expect(await list("/v1/keys?limit=0")).toEqual([]);
});

test("a page of users is full, whatever other keys lie between them", async () => {
  await start();
  expect(await list(users)).toEqual(userIds);
  expect(await list(`${users}?limit=3`)).toEqual(userIds.slice(0, 3));
  expect(await list(`${users}?limit=3&after=${userIds[2]}`)).toEqual(userIds.slice(3));
  expect(await list(`${users}?limit=0`)).toEqual([]);
});

test.each([
  "?limit=-1",
  "?limit=1.5",
  "?limit=",
  "?limit=1&limit=2",
  "?after=",
  "?after=x",
  "?after=%00",
  `?after=${"F".repeat(16)}`,
  "?offset=5",
])("%s is refused for keys and for users", async (query) => {
  await start();
  expect(await list(`/v1/keys${query}`)).toBe(422);
  expect(await list(`${users}${query}`)).toBe(422);
});

test("more than results may have is refused, saying how to ask for less", async () => {
  await start({ resultBytesMax: 1200 });
  expect(await service.get("/v1/keys")).toMatchObject({
    status: 413,
    body: { code: "too_large", detail: expect.stringMatching(/1200 bytes.*in pages, with limit and after$/) },
  });
  expect(await list("/v1/keys?limit=2")).toEqual(keyIds.slice(0, 2));
  expect(await list(users)).toEqual(userIds);
});
