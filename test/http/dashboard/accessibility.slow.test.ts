/** Every view of the dashboard, by axe and by keyboard: light and dark, wide and narrow. */

import { AxeBuilder } from "@axe-core/playwright";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createClient, generateKey } from "../../../src/core.js";
import { type DashboardService, openBrowser, openIndex, signIn, startDashboard, visit } from "./chromium.js";

let service: DashboardService;
const indexName = "animals";
const indexKey = generateKey();
/** As long as ids of real stores. */
const suffix = `#${"chunk/of/a/document".repeat(5)}`;

beforeAll(async () => {
  service = await startDashboard();
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.rootKey });
  const index = await client.createIndex({ indexName, indexKey, textIndex: true });
  const vectors = Array.from({ length: 60 }, (_, i) => [i, (i * 7) % 11, (i * 5) % 13]);
  const contents = "A long text. ".repeat(50);
  await index.upsert(
    vectors.map((vector, i) => ({
      id: `item-${i}${i === 1 ? suffix : ""}`,
      vector,
      contents,
      metadata: { group: i % 3 },
    })),
  );
  await index.train({ nLists: 2, queries: Array.from({ length: 100 }, (_, i) => vectors[i % 60]) });
  await service.post(
    "/v1/keys",
    { name: "a key of a rather long name", scopes: ["read"], indexes: [indexName] },
    { "X-API-Key": service.rootKey },
  );
});
afterAll(() => service.close());

/** Shows all views, one after the other. */
async function forEachView(page: Page, look: (view: string) => Promise<void>): Promise<void> {
  await page.getByText("responds").first().waitFor();
  await look("Overview");
  await visit(page, "Indexes");
  await page.getByRole("link", { name: indexName }).waitFor();
  await look("Indexes");
  await visit(page, "Audit log");
  await page.getByText("POST /v1/admin/open-indexes").first().waitFor();
  await look("Audit log");
  await visit(page, "API keys");
  await page.getByText("a key of a rather long name").waitFor();
  await look("API keys");
  await page.getByRole("button", { name: "Revoke a key" }).click();
  await page.getByRole("dialog").waitFor();
  await look("Revoke");
  await page.keyboard.press("Escape");
  await visit(page, "Data");
  await look("Open an index");
  await openIndex(page, indexName, indexKey);
  await page.getByText("item-10").waitFor();
  await look("Items");
  await page.getByRole("button", { name: `item-1${suffix}` }).click();
  await page.getByRole("dialog").waitFor();
  await look("Item");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Ask" }).click();
  await page.getByLabel("Question").fill("text");
  await page.getByText("Found by words.").waitFor();
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("listitem").first().waitFor();
  await look("Ask");
  await page.getByRole("link", { name: "Items" }).click();
  await page.getByRole("link", { name: "Similar to item-10" }).click();
  await page.getByRole("link", { name: "item-" }).first().waitFor();
  await look("Similar");
  await page.getByRole("link", { name: "Map" }).click();
  await page.getByRole("button", { name: "Draw" }).click();
  await page.locator("svg circle").first().waitFor();
  await page.getByLabel("Color by").selectOption("group");
  await look("Map");
  await page.getByRole("link", { name: "Recall" }).click();
  await page.getByRole("button", { name: "Measure" }).click();
  await page.getByText("Measured with").waitFor();
  await look("Recall");
}

const wide = { width: 1280, height: 800 };
const narrow = { width: 360, height: 740 };

test.each<[string, BrowserContextOptions]>([
  ["light and wide", { colorScheme: "light", viewport: wide }],
  ["dark and wide", { colorScheme: "dark", viewport: wide }],
  ["light and narrow", { colorScheme: "light", viewport: narrow, hasTouch: true }],
  ["dark and narrow", { colorScheme: "dark", viewport: narrow, hasTouch: true }],
])(
  "every view, %s, has nothing that axe finds, and nothing beyond the width of the page",
  async (_, options) => {
    const browser = await openBrowser(options);
    onTestFinished(() => browser.close());
    const problems: string[] = [];
    const look = (page: Page) => async (view: string) => {
      // In the page itself: without frames, there is nothing to put together in a page of its own.
      const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ["violations"] });
      const { violations } = await axe.analyze();
      for (const { id, nodes } of violations) {
        problems.push(`${view}: ${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(", ")}`);
      }
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      if (overflow > 0) problems.push(`${view}: ${overflow} pixels too wide`);
      if (view !== "API keys" || options.viewport !== narrow) return;
      const table = page.getByRole("region", { name: view, exact: true });
      const scroll = await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
      if (scroll > 0) problems.push(`${view}: ${scroll} pixels beyond a phone`);
    };
    const entrance = await browser.context.newPage();
    await entrance.goto(`${service.baseUrl}/admin/`);
    await entrance.getByLabel("Admin API key").waitFor();
    await look(entrance)("Sign in");
    const page = await signIn(browser, service);
    await forEachView(page, look(page));
    expect(problems).toEqual([]);
    expect(browser.complaints).toEqual([]);
  },
);

test("the keyboard alone signs in, changes the view, opens an index and answers a question", async () => {
  const browser = await openBrowser({ viewport: wide });
  onTestFinished(() => browser.close());
  const page = await browser.context.newPage();
  const { keyboard } = page;
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  // Views move the focus once they are drawn, which may be after the awaited element is visible.
  const hasFocus = (text: string) =>
    page.waitForFunction((wanted) => document.activeElement?.textContent === wanted, text);
  const tabTo = async (text: string) => {
    for (let i = 0; i < 60 && (await focused()) !== text; i++) await keyboard.press("Tab");
    expect(await focused()).toBe(text);
  };
  await page.goto(`${service.baseUrl}/admin/`);
  await page.getByLabel("Admin API key").waitFor();
  await keyboard.press("Tab");
  await keyboard.type(service.rootKey);
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  // The heading has the focus: a screen reader says where the person is.
  await hasFocus("Overview");
  await keyboard.press("Shift+Tab");
  await tabTo("Sign out");
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.goto(`${service.baseUrl}/admin/#/keys`);
  await page.getByText("a key of a rather long name").waitFor();
  await tabTo("Revoke");
  await keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await hasFocus("Keep it");
  await keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await hasFocus("Revoke");
});
