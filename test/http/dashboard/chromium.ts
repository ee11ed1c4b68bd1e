/** A headless browser, and a service with a dashboard to look at. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { generateKey, openLocation } from "../../../src/core.js";
import { AuditLog } from "../../../packages/server/src/audit/audit-log.js";
import { Metrics } from "../../../packages/server/src/metrics/metrics.js";
import { type RunningService, startService } from "../service.js";

export interface DashboardService extends RunningService {
  readonly rootKey: string;
}

export async function startDashboard(): Promise<DashboardService> {
  const folder = await mkdtemp(join(tmpdir(), "sealdex-dashboard-"));
  const rootKey = generateKey();
  const store = openLocation({ location: "memory" });
  const metrics = new Metrics();
  const audit = await AuditLog.open({ folder, rootKey, store });
  const service = await startService({
    indexLocation: metrics.observed(store, "index"),
    issuing: { rootKey, store },
    metrics,
    audit,
    dashboard: [{ name: "index", kind: "memory", store }],
  });
  return {
    ...service,
    rootKey,
    async close() {
      await service.close();
      await audit.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** A browser with a profile of its own, and the errors of its pages. */
export interface Browser {
  readonly context: BrowserContext;
  /** Where the profile is, with everything that the browser writes. */
  readonly profile: string;
  /** Violations of the content security policy, errors of scripts, errors in the console. */
  readonly complaints: readonly string[];
  /** Deletes the profile. The context may be closed before. */
  close(): Promise<void>;
}

export async function openBrowser(options: BrowserContextOptions = {}): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), "sealdex-profile-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
    ...options,
  });
  const complaints: string[] = [];
  context.on("weberror", (error) => complaints.push(String(error.error())));
  context.on("console", (message) => {
    // Refusals that a test asks for are answers, not faults.
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) complaints.push(message.text());
  });
  return {
    context,
    profile,
    complaints,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export async function signIn({ context }: Browser, { baseUrl, rootKey }: DashboardService): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${baseUrl}/admin/`);
  await page.getByLabel("Admin API key").fill(rootKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return page;
}

export async function visit(page: Page, title: string): Promise<void> {
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: title }).click();
  await page.getByRole("heading", { level: 1, name: title }).waitFor();
}

export async function openIndex(page: Page, indexName: string, indexKey: string): Promise<void> {
  await visit(page, "Data");
  await page.getByLabel("Index", { exact: true }).selectOption(indexName);
  await page.getByLabel("Index key").fill(indexKey);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: indexName }).waitFor();
}
