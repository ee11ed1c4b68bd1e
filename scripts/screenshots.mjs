// Takes a picture of every view of the dashboard, for docs/dashboard.md: starts a service with made-up data, and looks at it in
// a headless browser. `npm run build && node scripts/screenshots.mjs`; `node scripts/screenshots.mjs <folder>` also takes those that the document leaves out, dark and
// narrow ones of every view. Needs Chromium (CHROMIUM names another one than /usr/bin/chromium).

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { createClient, generateKey } from "sealdex/core";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = process.argv[2] ?? join(root, "docs", "dashboard");
/** In the document: every view in light and wide, and some of the others. */
const documented =
  /^[a-z-]+?(?<!-dark|-phone)$|^(overview-dark|data-map-dark|overview-phone|data-items-phone)$/;
const isWanted = (name) => process.argv[2] !== undefined || documented.test(name);
const work = mkdtempSync(join(tmpdir(), "sealdex-screenshots-"));
const rootKey = generateKey();
const indexKey = generateKey();
/** How long charts are drawn before they are looked at. */
const chartMs = 40_000;
/** Of long pages, the beginning is enough. */
const pictureHeightMax = 1000;
const desktop = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };

const service = spawn(
  process.execPath,
  [join(root, "packages", "server", "bin", "sealdex-server.js"), "serve"],
  {
    env: {
      ...process.env,
      SEALDEX_ROOT_KEY: rootKey,
      SEALDEX_INDEX_LOCATION: `file:${join(work, "index")}`,
      SEALDEX_CONFIG_LOCATION: `file:${join(work, "config")}`,
      SEALDEX_AUDIT_FOLDER: join(work, "audit"),
      SEALDEX_PORT: "0",
    },
    stdio: ["ignore", "pipe", "inherit"],
  },
);
const baseUrl = await new Promise((resolve, reject) => {
  let log = "";
  service.stdout.on("data", (chunk) => {
    log += chunk;
    const [, found] = /Server listening at (http:[^"]+)/.exec(log) ?? [];
    if (found !== undefined) resolve(found);
  });
  service.once("exit", () => reject(new Error(log)));
});

/** The same numbers each time. */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const topics = ["billing", "delivery", "returns", "account"];
const random = seeded(7);
const normal = () => random() + random() + random() + random() - 2;
const centres = topics.map(() => Array.from({ length: 64 }, () => 1.5 * normal()));
const items = Array.from({ length: 4000 }, (_, i) => {
  const topic = i % topics.length;
  return {
    // As long as those of real stores.
    id: `ticket-${String(i).padStart(5, "0")}#support/2025/${topics[topic]}/customer-message`,
    vector: centres[topic].map((value) => value + normal()),
    contents: `A question about ${topics[topic]}, number ${i}.`,
    metadata: { topic: topics[topic], year: 2020 + (i % 6), open: i % 3 === 0 },
  };
});

const client = createClient({ baseUrl, apiKey: rootKey });
const index = await client.createIndex({
  indexName: "support-tickets",
  indexKey,
  indexConfig: { type: "ivfflat", dimension: 64 },
});
await index.upsert(items.slice(0, 3000));
await index.train({ nLists: 64 });
await index.upsert(items.slice(3000));
const handbook = await client.createIndex({
  indexName: "handbook",
  indexKey,
  metric: "cosine",
  embeddingModel: "default",
  textIndex: true,
});
await handbook.upsert(
  [
    "Customers may return goods within 30 days. The refund goes to the card that paid.",
    "Parcels leave the warehouse on the day of the order if it arrives before noon.",
    "To change a password, open the account page and choose Security.",
    "An invoice is sent by email once the order is paid. Copies are on the billing page.",
    "A damaged parcel is replaced at no cost; a photo of the damage is enough.",
    "Accounts without a sign-in for three years are deleted after a notice.",
  ].map((contents, i) => ({
    id: `chapter-${i + 1}`,
    contents,
    metadata: { chapter: i + 1, language: "en" },
  })),
);
for (const indexName of ["articles", "photos", "tenant-0001", "tenant-0002"]) {
  await client.createIndex({ indexName, indexKey: generateKey() });
}
const keys = [
  {
    name: "search frontend",
    scopes: ["read"],
    indexes: ["support-tickets"],
    expires_at: Date.now() + 90 * 86_400_000,
  },
  { name: "nightly ingest", scopes: ["write"] },
  { name: "on-call", scopes: ["admin"] },
];
const issued = [];
for (const key of keys) {
  const response = await fetch(`${baseUrl}/v1/keys`, {
    method: "POST",
    headers: { "X-API-Key": rootKey, "Content-Type": "application/json" },
    body: JSON.stringify(key),
  });
  issued.push(await response.json());
}

const stopped = new AbortController();
const frontend = await createClient({ baseUrl, apiKey: issued[0].api_key }).loadIndex({
  indexName: "support-tickets",
  indexKey,
});
const load = (async () => {
  for (let i = 0; !stopped.signal.aborted; i++) {
    await frontend.query({ queryVector: items[i % items.length].vector, topK: 10, nProbes: 4 });
    if (i % 40 === 0) await frontend.query({ queryVector: [1, 2] }).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 8 + 6 * Math.sin(i / 150)));
  }
})();

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium" });
mkdirSync(out, { recursive: true });

async function shoot(page, name) {
  if (!isWanted(name)) return;
  await page.evaluate(() => document.fonts.ready);
  const session = await page.context().newCDPSession(page);
  const { cssContentSize } = await session.send("Page.getLayoutMetrics");
  // A dialog covers the window, not the page.
  const isDialog = (await page.getByRole("dialog").count()) > 0;
  const heightMax = isDialog ? page.viewportSize().height : pictureHeightMax;
  const { data } = await session.send("Page.captureScreenshot", {
    format: "webp",
    quality: 60,
    captureBeyondViewport: true,
    clip: {
      x: 0,
      y: 0,
      width: cssContentSize.width,
      height: Math.min(cssContentSize.height, heightMax),
      scale: 1,
    },
  });
  writeFileSync(join(out, `${name}.webp`), Buffer.from(data, "base64"));
  console.log(`${name}.webp`);
}

async function signedIn(options) {
  const page = await browser.newPage(options);
  page.on("pageerror", (error) => console.error("page error", error));
  page.on("console", (message) => message.type() === "error" && console.error(message.text()));
  await page.goto(`${baseUrl}/admin/`);
  return page;
}

async function signIn(page) {
  await page.getByLabel("Admin API key").fill(rootKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}

const view = async (page, name) => {
  await page.getByRole("navigation").getByRole("link", { name }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
  await page.waitForLoadState("networkidle");
};

async function openIndex(page, indexName) {
  await view(page, "Data");
  await page.getByLabel("Index", { exact: true }).selectOption(indexName);
  await page.getByLabel("Index key").fill(indexKey);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: indexName }).waitFor();
}

/** Every view, in one look. */
async function shootAll(options, suffix) {
  const page = await signedIn(options);
  await shoot(page, `sign-in${suffix}`);
  await signIn(page);
  await page.waitForTimeout(chartMs);
  await shoot(page, `overview${suffix}`);
  await view(page, "Indexes");
  await page.getByText("support-tickets").waitFor();
  await shoot(page, `indexes${suffix}`);
  await view(page, "API keys");
  await page.getByText("nightly ingest").waitFor();
  await shoot(page, `api-keys${suffix}`);
  await view(page, "Audit log");
  await page.getByText("POST /v1/vectors/query").first().waitFor();
  await shoot(page, `audit-log${suffix}`);
  await view(page, "Data");
  await shoot(page, `data-open${suffix}`);
  await openIndex(page, "handbook");
  await page.getByRole("link", { name: "Ask" }).click();
  await page.getByLabel("Question").fill("how do I get my money back?");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByText("within 30 days").waitFor();
  await shoot(page, `data-ask${suffix}`);
  await page.getByRole("button", { name: "Close and forget" }).click();
  await openIndex(page, "support-tickets");
  await page.getByRole("link", { name: "Items" }).click();
  await page.getByText("ticket-00000").first().waitFor();
  await shoot(page, `data-items${suffix}`);
  await page.getByRole("button", { name: "ticket-00001" }).click();
  await page.getByRole("dialog").waitFor();
  await shoot(page, `data-item${suffix}`);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Similar to ticket-00001" }).click();
  await page.getByRole("region", { name: "Items similar" }).getByRole("link").first().waitFor();
  await shoot(page, `data-similar${suffix}`);
  await page.getByRole("link", { name: "Map" }).click();
  await page.getByRole("button", { name: "Draw" }).click();
  await page.locator("svg circle").first().waitFor();
  await page.getByLabel("Color by").selectOption("topic");
  await shoot(page, `data-map${suffix}`);
  await page.getByRole("link", { name: "Recall" }).click();
  await page.getByRole("button", { name: "Measure" }).click();
  await page.getByText("Measured with").waitFor();
  await shoot(page, `data-recall${suffix}`);
  await page.close();
}

try {
  const dark = { viewport: desktop, colorScheme: "dark" };
  const narrow = { viewport: phone, isMobile: true, hasTouch: true };
  await Promise.all([
    shootAll({ viewport: desktop }, ""),
    shootAll(dark, "-dark"),
    shootAll(narrow, "-phone"),
    shootAll({ ...narrow, colorScheme: "dark" }, "-phone-dark"),
  ]);
} finally {
  stopped.abort();
  await load.catch(() => undefined);
  await browser.close();
  service.kill("SIGTERM");
  await new Promise((resolve) => service.once("exit", resolve));
  rmSync(work, { recursive: true });
}
