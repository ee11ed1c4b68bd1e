/**
 * The documents of a folder: by their names, unless hidden or ignored by a `.gitignore`. Symbolic links are never followed,
 * and no file is read that lies outside.
 */

import { constants } from "node:fs";
import { lstat, open, readdir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { isReadable } from "./read-text.js";

export interface FolderFile {
  /** Relative to the folder, with forward slashes. */
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/** Larger files are left out. */
export const fileBytesMax = 20 * 1024 * 1024;
const rulesBytesMax = 1024 * 1024;

/** A `.gitignore`, and the path of its folder with a slash behind, or "". */
interface Rules {
  readonly base: string;
  readonly ignore: Ignore;
}

export class Folder {
  /** Without symbolic links. */
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async open(path: string): Promise<Folder> {
    const root = await realpath(path).catch(() => undefined);
    if (root === undefined || !(await lstat(root)).isDirectory())
      throw new Error(`--folder: there is no folder ${path}`);
    return new Folder(root);
  }

  /** Every document, in the order of names. */
  async *files(base = "", inherited: readonly Rules[] = []): AsyncGenerator<FolderFile, void, undefined> {
    const entries = await readdir(this.absolute(base), { withFileTypes: true }).catch((error: unknown) => {
      // Without the folder itself nothing is known; one inside may just have been deleted.
      if (base === "") throw error;
      return [];
    });
    const rules = entries.some(({ name }) => name === ".gitignore")
      ? await this.addRules(base, inherited)
      : inherited;
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = base + entry.name;
      if (entry.isDirectory()) {
        if (isWanted(`${path}/`, rules)) yield* this.files(`${path}/`, rules);
      } else if (entry.isFile() && isReadable(path) && isWanted(path, rules)) {
        const file = await this.stat(path);
        if (file) yield file;
      }
    }
  }

  /** The document with this path. Undefined if there is none, or `files` leaves it out. */
  async find(path: string): Promise<FolderFile | undefined> {
    const rules = isReadable(path) ? await this.rulesAbove(path) : undefined;
    return rules && isWanted(path, rules) ? this.stat(path) : undefined;
  }

  /** Whether this path is a folder that `files` enters. */
  async isFolder(path: string): Promise<boolean> {
    return (await this.rulesAbove(`${path}/`)) !== undefined;
  }

  /** The bytes of a file in this folder. Refuses one that a link replaced in the meantime. */
  async read(path: string, bytesMax = fileBytesMax): Promise<Buffer> {
    const absolute = this.absolute(path);
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    const handle = await open(absolute, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const opened = await handle.stat({ bigint: true });
      const named = await lstat(absolute, { bigint: true });
      const isSame = opened.ino === named.ino && opened.dev === named.dev;
      if (!opened.isFile() || !isSame || (await realpath(absolute)) !== absolute)
        throw new Error("not a file of the folder");
      if (opened.size > bytesMax) throw new Error(`larger than ${bytesMax} bytes`);
      return await handle.readFile();
    } finally {
      await handle.close();
    }
  }

  private async stat(path: string): Promise<FolderFile | undefined> {
    const found = await lstat(this.absolute(path)).catch(() => undefined);
    return found?.isFile() ? { path, size: found.size, mtimeMs: found.mtimeMs } : undefined;
  }

  /** The rules for a path. Undefined if one of the folders above it is none, or left out. */
  private async rulesAbove(path: string): Promise<readonly Rules[] | undefined> {
    let rules: readonly Rules[] = [];
    for (let end = 0; ; end = path.indexOf("/", end) + 1) {
      const base = path.slice(0, end);
      const found = await lstat(this.absolute(base)).catch(() => undefined);
      if (!found?.isDirectory() || (base !== "" && !isWanted(base, rules))) return undefined;
      rules = await this.addRules(base, rules);
      if (!path.includes("/", end)) return rules;
    }
  }

  private async addRules(base: string, inherited: readonly Rules[]): Promise<readonly Rules[]> {
    const text = await this.read(`${base}.gitignore`, rulesBytesMax).catch(() => undefined);
    return text ? [...inherited, { base, ignore: ignore().add(text.toString("utf8")) }] : inherited;
  }

  private absolute(path: string): string {
    return join(this.root, path.replace(/\/$/, "").split("/").join(sep));
  }
}

/** As git decides: the last rule that matches wins. `path` ends with a slash if it is a folder. */
function isWanted(path: string, rules: readonly Rules[]): boolean {
  const name = path.replace(/\/$/, "").split("/").pop() ?? "";
  if (name.startsWith(".") || (path.endsWith("/") && name === "node_modules")) return false;
  let isIgnored = false;
  for (const rule of rules) {
    const { ignored, unignored } = rule.ignore.test(path.slice(rule.base.length));
    isIgnored = ignored || (isIgnored && !unignored);
  }
  return !isIgnored;
}
