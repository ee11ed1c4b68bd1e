/** Whole tasks in the dashboard, in a real browser: a new index, a question, an item in full, the end of an index. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, generateKey } from "../../../src/core.js";
import { Metrics } from "../../../packages/server/src/metrics/metrics.js";
import { startService } from "../service.js";
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
let browser: Browser;
beforeAll(async () => {
  service = await startDashboard();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await service.close();
});

test("an index is created under a key that is shown once, asked, and deleted after a question", async () => {
  const page = await signIn(browser, service);
  await visit(page, "Indexes");
  await page.getByText("No indexes yet.").waitFor();
  await page.getByLabel("Name").fill("handbook");
  await page.getByLabel("Embedding model").selectOption("default");
  await page.getByLabel("Keyword search").check();
  await page.getByRole("button", { name: "Create" }).click();
  const indexKey = await page.getByRole("region", { name: "The new key" }).locator("code").innerText();
  expect(indexKey).toMatch(/^[0-9a-f]{64}$/);
  await page.getByRole("button", { name: "Hide" }).click();
  expect(await page.content()).not.toContain(indexKey);
  await page.getByRole("link", { name: "handbook" }).waitFor();

  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.rootKey });
  const index = await client.loadIndex({ indexName: "handbook", indexKey });
  const contents = `Goods may be returned within 30 days.\n${"Returned goods are refunded. ".repeat(40)}`;
  await index.upsert([
    { id: "returns", contents, metadata: { chapter: 4 } },
    { id: "parcels", contents: "Parcels leave on the day of the order." },
  ]);
  await openIndex(page, "handbook", indexKey);
  await page.getByText("2 items of 1,024 dimensions").waitFor();
  await page.getByText("1 segment,").waitFor();
  await page.getByRole("link", { name: "Ask" }).click();
  await page.getByText("Found by meaning and words.").waitFor();
  await page.getByLabel("Question").fill("may goods be returned?");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("listitem").first().getByText("Goods may be returned").waitFor();
  await page.getByRole("button", { name: "returns" }).click();
  const item = page.getByRole("dialog");
  expect(await item.locator("pre").innerText()).toBe('{\n  "chapter": 4\n}');
  expect(await item.locator(".whole").textContent()).toBe(contents);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Recall" }).click();
  await page.getByText("This index is not trained").waitFor();
  expect(await page.getByRole("button", { name: "Measure" }).count()).toBe(0);

  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Keep it" }).click();
  expect(await client.listIndexes()).toEqual(["handbook"]);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.getByRole("heading", { name: "Open an index" }).waitFor();
  expect(await client.listIndexes()).toEqual([]);
  await page.close();
});

test("an index with neither a model nor words says that it cannot be asked", async () => {
  const indexKey = generateKey();
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.rootKey });
  const index = await client.createIndex({ indexName: "vectors", indexKey });
  await index.upsert([{ id: "a", vector: [1, 2] }]);
  const page = await signIn(browser, service);
  await openIndex(page, "vectors", indexKey);
  await page.getByText("1 item of 2 dimensions").waitFor();
  await page.getByText("1 item matches.").waitFor();
  await page.getByRole("link", { name: "Ask" }).click();
  await page.getByText("neither an embedding model nor a text index").waitFor();
  await page.close();
});

test("without a root key, the views of API keys and of the audit log say how to get them", async () => {
  const metrics = new Metrics();
  const other = await startService({ metrics, dashboard: [] });
  const page = await signIn(browser, { ...other, rootKey: other.apiKey });
  await visit(page, "API keys");
  await page.getByText("This service issues no API keys.").waitFor();
  expect(await page.getByRole("table").count()).toBe(0);
  expect(await page.getByRole("button", { name: "Issue" }).count()).toBe(0);
  await visit(page, "Audit log");
  await page.getByText("This service keeps no audit log.").waitFor();
  expect(await page.getByRole("table").count()).toBe(0);
  await page.close();
  await other.close();
});

test("no task breaks the policy or fails", () => {
  expect(browser.complaints).toEqual([]);
});
