/** A file system that is soon full. */

import { execFileSync } from "node:child_process";
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Why a test is skipped that `smallFileSystem` gives no folder. */
export const needsRoot = "it takes a file system of its own, which only root can mount";

/** A folder with a file system of its own, of a size such as `3m`; undefined if this user may not mount one. */
export async function smallFileSystem(size: string): Promise<string | undefined> {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "sealdex-small-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder], { stdio: "ignore" });
    return folder;
  } catch {
    await rm(folder, { recursive: true });
    return undefined;
  }
}

/** Leaves no room in it, in a file `else`. */
export async function fillFileSystem(folder: string): Promise<void> {
  const isFull = async () => {
    await appendFile(join(folder, "else"), Buffer.alloc(4096));
    return false;
  };
  while (!(await isFull().catch(() => true)));
}

export async function removeFileSystem(folder: string): Promise<void> {
  execFileSync("umount", [folder]);
  await rm(folder, { recursive: true });
}
