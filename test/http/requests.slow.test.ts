/** Every request of docs/requests.md, run by a shell and curl against the service as its users run it. Needs a build. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { startProcess } from "./service-process.js";

const run = promisify(execFile);

test("every endpoint has a request in the documentation, and it works", async () => {
  const page = await readFile(new URL("../../docs/requests.md", import.meta.url), "utf8");
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block);
  const auditFolder = await mkdtemp(join(tmpdir(), "sealdex-requests-"));
  const service = await startProcess({
    SEALDEX_AUDIT_FOLDER: auditFolder,
    SEALDEX_INDEX_LOCATION: "memory:",
    SEALDEX_ROOT_KEY: generateKey(),
  });
  try {
    const document = (await (await fetch(`${service.baseUrl}/v1/openapi.json`)).json()) as {
      paths: Record<string, object>;
    };
    for (const path of Object.keys(document.paths)) {
      const shown = path.replaceAll(/\{\w+\}/g, "[^/ ]+").replaceAll("/", "\\/");
      expect(page, path).toMatch(new RegExp(`localhost:8000${shown}(?:[ ?]|$)`, "m"));
    }
    const script = blocks
      .join("\n")
      .replaceAll("npx sealdex-server generate-key", "openssl rand -hex 32")
      .replaceAll("API_KEY=$SEALDEX_ROOT_KEY", "")
      .replaceAll("curl -s ", 'curl -s --show-error --fail-with-body -w "\\n" ')
      .replaceAll("localhost:8000", service.baseUrl);
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], {
      env: { PATH: process.env.PATH, API_KEY: service.rootKey },
    });
    expect(stdout).toContain("deleted successfully");
  } finally {
    await service.kill();
    await rm(auditFolder, { recursive: true });
  }
});
