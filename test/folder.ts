/** Folders for tests. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** An empty folder, which goes with the test. */
export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sealdex-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
