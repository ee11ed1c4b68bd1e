// Takes pictures of pages of the site, for docs/pictures: `npm run --prefix docs/site pictures` builds it first. Needs
// Chromium (CHROMIUM names another one than /usr/bin/chromium).

import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { serve } from "vitepress";

const pictures = {
  "site-home": "/",
  "site-readme": "/README",
  "site-guide": "/docs/langchain",
  "site-api": "/api/",
};
const port = 4173;
const folder = fileURLToPath(new URL("../pictures/", import.meta.url));

const { server } = await serve({ root: fileURLToPath(new URL(".", import.meta.url)), port });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium" });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  for (const [name, path] of Object.entries(pictures)) {
    await page.goto(`http://localhost:${port}${path}`, { waitUntil: "networkidle" });
    await page.screenshot({ path: `${folder}${name}.png` });
  }
} finally {
  await browser.close();
  server.close();
}
