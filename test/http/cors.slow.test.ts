/** Pages of other origins call the service from a real browser. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import type * as clientModule from "../../src/client/client.js";
import { generateKey } from "../../src/core.js";
import { readSettings } from "../../packages/server/src/settings/settings.js";
import { type Browser, openBrowser } from "./dashboard/chromium.js";
import { type RunningService, startService } from "./service.js";

const page = createServer((_request, response) => {
  response.setHeader("Content-Type", "text/html").end("<!doctype html>");
});
let origin = "";
let service: RunningService;
let browser: Browser;
let client = "";

beforeAll(async () => {
  await new Promise<void>((listening) => page.listen(0, "127.0.0.1", listening));
  origin = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
  service = await startService({ corsOrigins: ["https://app.example.com", origin] });
  browser = await openBrowser();
  const { outputFiles } = await build({
    entryPoints: [new URL("../../src/client/client.ts", import.meta.url).pathname],
    bundle: true,
    write: false,
    format: "iife",
    globalName: "sealdex",
  });
  client = outputFiles[0].text;
});
afterAll(async () => {
  await browser.close();
  await service.close();
  page.close();
});

/** Creates an index, stores and finds an item, and fails once, in a page. Returns what the page saw. */
async function use(baseUrl: string) {
  const tab = await browser.context.newPage();
  await tab.goto(origin);
  await tab.addScriptTag({ content: client });
  const { apiKey } = service;
  const seen = await tab.evaluate(
    async ([url, key, indexKey]) => {
      const { createClient } = (globalThis as unknown as { sealdex: typeof clientModule }).sealdex;
      const open = createClient({ baseUrl: url, apiKey: key, maxRetries: 0 });
      try {
        const index = await open.createIndex({ indexName: "of a page", indexKey });
        await index.upsert([{ id: "a", vector: [1, 2], contents: "found" }]);
        const found = await index.query({ queryVector: [1, 2], include: ["contents"] });
        const again = await open
          .createIndex({ indexName: "of a page", indexKey })
          .catch((error: unknown) => error);
        return { found, code: (again as { code: string }).code };
      } catch (error) {
        return { code: (error as { code: string }).code };
      }
    },
    [baseUrl, apiKey, generateKey()] as const,
  );
  await tab.close();
  return seen;
}

test("a page of a listed origin stores, finds and sees errors", async () => {
  expect(await use(service.baseUrl)).toEqual({
    found: [{ id: "a", contents: "found" }],
    code: "already_exists",
  });
});

test("without the setting, a browser keeps the answers from the page", async () => {
  const closed = await startService();
  expect(await use(closed.baseUrl)).toEqual({ code: "storage_unavailable" });
  await closed.close();
});

const preflight = (from: string) =>
  fetch(`${service.baseUrl}/v1/vectors/query`, {
    method: "OPTIONS",
    headers: {
      Origin: from,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "content-type,x-api-key",
    },
  });

test("a preflight names a listed origin, and no other", async () => {
  const allowed = await preflight(origin);
  expect(allowed.status).toBe(204);
  expect(allowed.headers.get("Access-Control-Allow-Origin")).toBe(origin);
  expect(allowed.headers.get("Access-Control-Allow-Credentials")).toBeNull();
  for (const other of ["https://app.example.com.attacker.example", "null", "http://127.0.0.1"]) {
    expect((await preflight(other)).headers.get("Access-Control-Allow-Origin")).toBeNull();
  }
});

test.each([
  "*",
  "app.example.com",
  "https://app.example.com/",
  "https://App.example.com",
  "ftp://a",
  "https://a, b",
])("%s is refused as SEALDEX_CORS_ORIGINS", (origins) => {
  const settings = { SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_CORS_ORIGINS: origins };
  expect(() => readSettings(settings)).toThrow(/^SEALDEX_CORS_ORIGINS: expected origins such as/);
});

test("several origins are listed", () => {
  const settings = {
    SEALDEX_INDEX_LOCATION: "memory:",
    SEALDEX_CORS_ORIGINS: "https://a.example, http://localhost:3000",
  };
  expect(readSettings(settings).corsOrigins).toEqual(["https://a.example", "http://localhost:3000"]);
});
