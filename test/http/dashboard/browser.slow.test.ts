/** The dashboard in a real browser: views, actions, and the places of keys. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Page, Request } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../../src/core.js";
import {
  type Browser,
  type DashboardService,
  openBrowser,
  openIndex,
  signIn,
  startDashboard,
  visit,
} from "./chromium.js";

let service: DashboardService;
let index: VectorIndex;
let browser: Browser;
const indexKey = generateKey();
const indexName = "animals";
const kinds = ["fish", "bird", "mammal"];

/** Items in three groups that are far apart. */
function items(count: number) {
  return Array.from({ length: count }, (_, i) => ({
    id: `item-${String(i).padStart(3, "0")}`,
    vector: [10 * (i % 3), (i % 3) ** 2, Math.sin(i), Math.cos(3 * i)],
    contents: `Text of number ${i}.`,
    metadata: { kind: kinds[i % 3], n: i },
  }));
}

beforeAll(async () => {
  service = await startDashboard();
  await service.newIndex();
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.rootKey });
  index = await client.createIndex({ indexName, indexKey });
  await index.upsert(items(120));
  await index.train({ nLists: 6, queries: items(120).map(({ vector }) => vector) });
  browser = await openBrowser({ viewport: { width: 1280, height: 800 } });
});
afterAll(async () => {
  await browser.close();
  await service.close();
});

/** The texts of a column of a table, once it has rows. */
async function column(page: Page, table: string, number: number): Promise<string[]> {
  const cells = page
    .getByRole("region", { name: table, exact: true })
    // Not the one cell that says that the rows are being loaded.
    .locator(`tbody td:nth-child(${number}):not([colspan])`);
  await cells.first().waitFor();
  return cells.allTextContents();
}

test("a key that is not accepted is refused, and a reload signs out", async () => {
  const page = await browser.context.newPage();
  await page.goto(`${service.baseUrl}/admin/`);
  await page.getByLabel("Admin API key").fill("sealdex_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("API key not accepted").waitFor();
  await page.getByLabel("Admin API key").fill(service.rootKey);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.reload();
  await page.getByLabel("Admin API key").waitFor();
  expect(await page.getByLabel("Admin API key").inputValue()).toBe("");
  await page.close();
});

test("charts show requests while a user watches", async () => {
  const page = await signIn(browser, service);
  const rate = page.getByRole("figure").filter({ hasText: "Throughput" }).getByRole("status").first();
  // However long it takes until a report is between two queries.
  let isSeen = false;
  const seen = rate.filter({ hasText: /[1-9]/ }).waitFor({ timeout: 0 });
  void seen.then(() => (isSeen = true));
  while (!isSeen) {
    await index.query({ queryVector: [0, 0, 0, 1], topK: 3 });
    await setTimeout(50);
  }
  expect(await column(page, "Storage locations", 3)).toEqual([expect.stringMatching(/^responds, /)]);
  await page.close();
});

test("an API key is issued, shown once, restricted, and revoked after a question", async () => {
  const page = await signIn(browser, service);
  await visit(page, "API keys");
  await page.getByLabel("Name").fill("reader of animals");
  await page.getByLabel("Only these indexes").fill(indexName);
  await page.getByLabel("Expires after").fill("30");
  await page.getByRole("button", { name: "Issue", exact: true }).click();
  const issued = page.getByRole("region", { name: "The new key" });
  const apiKey = await issued.locator("code").innerText();
  expect(apiKey).toMatch(/^sealdex_[0-9a-f]{88}$/);
  await issued.getByRole("button", { name: "Hide" }).click();
  expect(await page.content()).not.toContain(apiKey);

  const ask = (path: string) => service.get(path, { "X-API-Key": apiKey });
  expect((await ask("/v1/indexes/list")).body).toEqual({ indexes: [indexName] });
  expect((await ask("/v1/keys")).status).toBe(403);
  await visit(page, "Overview");
  await visit(page, "API keys");
  const row = page.getByRole("row").filter({ hasText: "reader of animals" });
  await row.waitFor();
  const cells = await row.getByRole("cell").allTextContents();
  expect(cells.slice(2, 4)).toEqual(["read", indexName]);
  expect(cells[6]).not.toBe("never");

  await page.getByRole("button", { name: "Revoke reader of animals" }).click();
  const dialog = page.getByRole("dialog");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  expect((await ask("/v1/indexes/list")).status).toBe(200);
  await page.getByRole("button", { name: "Revoke reader of animals" }).click();
  await dialog.getByRole("button", { name: "Revoke it" }).click();
  await row.waitFor({ state: "detached" });
  expect((await ask("/v1/indexes/list")).status).toBe(401);
  await page.close();
});

test("a duplicate of an API key keeps its scopes and indexes, and expires with it", async () => {
  const root = { "X-API-Key": service.rootKey };
  const expires_at = Date.now() + 20.4 * 24 * 60 * 60 * 1000;
  const original = {
    name: "original",
    scopes: ["write"],
    indexes: [indexName],
    expires_at: Math.round(expires_at),
  };
  await service.post("/v1/keys", original, root);
  const page = await signIn(browser, service);
  await visit(page, "API keys");
  await page.getByRole("button", { name: "Duplicate original" }).click();
  const days = page.getByLabel("Expires after");
  expect(await days.inputValue()).toBe("21");
  const issue = async (name: string) => {
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    await page.getByRole("row").filter({ hasText: name }).waitFor();
    const { body } = await service.get("/v1/keys", root);
    return (body as { keys: { name: string; expires_at?: number }[] }).keys.find((key) => key.name === name);
  };
  expect(await issue("unchanged")).toMatchObject({ ...original, name: "unchanged" });
  await days.fill("2");
  const { expires_at: sooner = Infinity } = (await issue("sooner")) ?? {};
  expect(sooner).toBeLessThan(Date.now() + 3 * 24 * 60 * 60 * 1000);
  await days.fill("");
  expect(await issue("lasting")).not.toHaveProperty("expires_at");
  await page.close();
});

test("two clicks issue one API key", async () => {
  const page = await signIn(browser, service);
  await visit(page, "API keys");
  await page.getByLabel("Name").fill("clicked twice");
  await page.getByRole("button", { name: "Issue", exact: true }).evaluate((button: HTMLElement) => {
    button.click();
    button.click();
  });
  await page.getByRole("region", { name: "The new key" }).waitFor();
  await page.getByRole("row").filter({ hasText: "clicked twice" }).waitFor();
  const { body } = await service.get("/v1/keys", { "X-API-Key": service.rootKey });
  const { keys } = body as { keys: { name: string }[] };
  expect(keys.filter(({ name }) => name === "clicked twice").length).toBe(1);
  await page.close();
});

test("indexes that are open are described, and the audit log is there", async () => {
  const page = await signIn(browser, service);
  await visit(page, "Indexes");
  expect(await column(page, "Indexes", 1)).toEqual([indexName, "index 0"]);
  expect(await column(page, "Indexes", 2)).toEqual(["open", "closed"]);
  expect(await column(page, "Indexes", 3)).toEqual(["120", "–"]);
  await visit(page, "Audit log");
  expect(await column(page, "Audit log", 4)).toContain("POST /v1/admin/open-indexes");
  expect(await page.getByText("not authentic").count()).toBe(0);
  await page.close();
});

test("items are browsed and filtered, and similar ones found", async () => {
  const page = await signIn(browser, service);
  await openIndex(page, indexName, indexKey);
  expect((await column(page, "Items", 1)).slice(0, 2)).toEqual(["item-000", "item-001"]);
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("item-025").waitFor();
  await page.getByLabel("Filter").fill('{ "kind": "fish", "n": { "$gte": 60 } }');
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("status").getByText("20 items match.").waitFor();
  await page.getByText("item-060").waitFor();
  await page.getByLabel("Filter").fill("{ kind: fish }");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("alert").getByText("not JSON").waitFor();
  await page.getByRole("link", { name: "Similar to item-060" }).click();
  await page.getByRole("link", { name: "item-" }).first().waitFor();
  const found = await column(page, "Items similar to item-060", 1);
  const expected = await index.query({
    queryVector: items(61)[60].vector,
    topK: 21,
    nProbes: 0,
    include: [],
  });
  expect(found).toEqual(expected.map(({ id }) => id).filter((id) => id !== "item-060"));
  await page.close();
});

test("a map draws every item of a small index, and recall is measured against all lists", async () => {
  const page = await signIn(browser, service);
  await openIndex(page, indexName, indexKey);
  await page.getByRole("link", { name: "Map" }).click();
  await page.getByRole("button", { name: "Draw" }).click();
  await page.locator("svg circle").first().waitFor();
  expect(await page.locator("svg circle").count()).toBe(120);
  await page.getByLabel("Color by").selectOption("kind");
  const legend = page.getByRole("list", { name: "Values of kind" });
  await legend.getByRole("listitem").first().waitFor();
  expect((await legend.getByRole("listitem").allTextContents()).sort()).toEqual([...kinds].sort());
  await page.getByLabel("Item", { exact: true }).selectOption("item-007");
  await page.getByText('"kind":"bird"').waitFor();
  await page.getByRole("link", { name: "Recall" }).click();
  await page.getByRole("button", { name: "Measure" }).click();
  await page.getByText("Measured with").waitFor();
  const intervals = await column(page, "Measured recall of 10", 3);
  expect(intervals.length).toBe(7);
  for (const interval of intervals) expect(interval).toMatch(/^[\d.]+ % – [\d.]+ %$/);
  const drawing = page
    .getByRole("region", { name: "Measured recall of 10", exact: true })
    .locator("svg")
    .first();
  expect((await drawing.boundingBox())?.width).toBeGreaterThan(100);
  const recalls = await column(page, "Recall", 2);
  expect(recalls.at(-1)).toBe("100 %");
  expect(recalls.length).toBe(5);
  await page.close();
});

test("a wrong index key is refused, and closing an index forgets its key", async () => {
  const page = await signIn(browser, service);
  await visit(page, "Data");
  await page.getByLabel("Index", { exact: true }).selectOption(indexName);
  await page.getByLabel("Index key").fill("0".repeat(63));
  await page.getByRole("button", { name: "Open" }).click();
  expect(await page.locator("input:invalid").count()).toBe(1);
  await page.getByLabel("Index key").fill("0".repeat(64));
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("alert").getByText("wrong_index_key").waitFor();
  await openIndex(page, indexName, indexKey);
  await page.getByRole("button", { name: "Close and forget the key" }).click();
  expect(await page.getByLabel("Index key").inputValue()).toBe("");
  await page.close();
});

test("keys go to the service alone, and neither keys nor items into a storage of the browser", async () => {
  const own = await openBrowser();
  onTestFinished(() => own.close());
  const requests: Request[] = [];
  own.context.on("request", (request) => requests.push(request));
  const page = await signIn(own, service);
  await openIndex(page, indexName, indexKey);
  await page.getByRole("link", { name: "Similar to item-001" }).click();
  await page.getByRole("link", { name: "item-" }).first().waitFor();
  for (const title of ["Overview", "Indexes", "API keys", "Audit log", "Data"]) await visit(page, title);
  expect(await page.content()).not.toContain(indexKey);
  const stored = await page.evaluate(async () => ({
    local: Object.entries(localStorage),
    session: Object.entries(sessionStorage),
    cookie: document.cookie,
    databases: await indexedDB.databases(),
    caches: await caches.keys(),
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    history: history.state as unknown,
    address: location.href,
  }));
  const none = { local: [], session: [], cookie: "", databases: [], caches: [], workers: 0, history: null };
  expect(stored).toEqual({ ...none, address: expect.stringContaining("#/data") });
  expect(await own.context.cookies()).toEqual([]);

  const withKey: string[] = [];
  for (const request of requests) {
    const { origin, pathname } = new URL(request.url());
    expect(origin).toBe(service.baseUrl);
    expect(JSON.stringify([request.url(), await request.allHeaders()])).not.toContain(indexKey);
    expect(request.url() + (request.postData() ?? "")).not.toContain(service.rootKey);
    if (request.postData()?.includes(indexKey) === true) withKey.push(pathname);
  }
  const paths = ["describe", "get", "list", "num_vectors", "query_binary"];
  expect([...new Set(withKey)].map((path) => path.replace(/.*\//, "")).sort()).toEqual(paths);

  // The files of the browser.
  await own.context.close();
  expect(await filesWith(own.profile, new URL(service.baseUrl).host)).not.toEqual([]);
  for (const secret of [indexKey, service.rootKey, "item-001", "Text of number"])
    expect(await filesWith(own.profile, secret)).toEqual([]);
});

test("no view breaks the policy or fails", () => {
  expect(browser.complaints).toEqual([]);
});

/** The files below a folder that hold a text, in UTF-8 or UTF-16. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    if (bytes.includes(text) || bytes.includes(text, 0, "utf16le")) found.push(entry.name);
  }
  return found;
}

test("API keys are shown in pages", async () => {
  const root = { "X-API-Key": service.rootKey };
  for (let i = 0; i < 51; i++) await service.post("/v1/keys", { name: `key ${i}`, scopes: ["read"] }, root);
  const { body } = await service.get("/v1/keys", root);
  const ids = (body as { keys: { id: string }[] }).keys.map(({ id }) => id);
  const page = await signIn(browser, service);
  await visit(page, "API keys");
  expect(await column(page, "API keys", 2)).toEqual(ids.slice(0, 50));
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByRole("cell", { name: ids[50] }).waitFor();
  expect(await column(page, "API keys", 2)).toEqual(ids.slice(50));
  expect(await page.getByRole("button", { name: "Next" }).isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Previous" }).click();
  await page.getByRole("cell", { name: ids[0] }).waitFor();
  await page.close();
});

test("a page of a table is sorted and searched", async () => {
  const page = await signIn(browser, service);
  await visit(page, "API keys");
  const shown = await column(page, "API keys", 1);
  const numeric = { numeric: true } as const;
  const ascending = [...shown].sort((a, b) => a.localeCompare(b, "en", numeric));
  const header = page.getByRole("columnheader", { name: "Name" });
  for (const [direction, expected] of [
    ["ascending", ascending],
    ["descending", [...ascending].reverse()],
  ] as const) {
    await header.getByRole("button").click();
    await expect.poll(() => header.getAttribute("aria-sort")).toBe(direction);
    expect(await column(page, "API keys", 1)).toEqual(expected);
  }
  const search = page.getByLabel("Search API keys");
  await search.fill(" KEY 4");
  const found = [...ascending].reverse().filter((name) => name.includes("key 4"));
  // The other page has fewer than eight of the eleven.
  expect(found.length).toBeGreaterThan(3);
  await expect.poll(() => column(page, "API keys", 1)).toEqual(found);
  await search.fill("nobody");
  await page.getByText("No row matches.").waitFor();
  // Fewer rows than have a search box of their own.
  await search.fill("");
  await page.getByRole("button", { name: "Next" }).click();
  await search.waitFor({ state: "detached" });
  expect((await column(page, "API keys", 1)).length).toBeLessThan(8);
  await page.close();
});
