/** Runs the command as its users do, and reads the index that it leaves. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, fileKey } from "sealdex/core";
import { onTestFinished } from "vitest";

const program = fileURLToPath(new URL("../bin/sealdex-migrate.js", import.meta.url));

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface MovedItem {
  readonly vector: readonly number[];
  readonly contents: string | undefined;
  readonly metadata: unknown;
}

/** A folder with the files of one migration. */
export class Workspace {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(): Promise<Workspace> {
    const folder = await mkdtemp(join(tmpdir(), "sealdex-migrate-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return new Workspace(folder);
  }

  path(...names: readonly string[]): string {
    return join(this.folder, ...names);
  }

  async writeJson(name: string, value: unknown): Promise<void> {
    await writeFile(this.path(name), typeof value === "string" ? value : JSON.stringify(value));
  }

  #args(from: string, more: readonly string[]): string[] {
    const target = ["--to", "file:./data", "--index", "notes", "--key-file", "notes.key"];
    return [program, "--from", from, ...target, ...more];
  }

  run(from: string, more: readonly string[] = [], env: Record<string, string> = {}): Promise<Finished> {
    return new Promise((resolve) => {
      const options = { cwd: this.folder, env: { ...process.env, ...env } };
      execFile(process.execPath, this.#args(from, more), options, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
    });
  }

  start(from: string, more: readonly string[]): ChildProcess {
    return spawn(process.execPath, this.#args(from, more), { cwd: this.folder, stdio: "ignore" });
  }

  /** Every item of the new index, by its id. */
  async items(namespace?: string): Promise<Record<string, MovedItem>> {
    await using client = createClient({
      indexLocation: { location: "local", path: this.path("data") },
      automaticTraining: false,
    });
    const index = await client.loadIndex({ indexName: "notes", indexKey: fileKey(this.path("notes.key")) });
    const items: Record<string, MovedItem> = {};
    const scope = namespace === undefined ? {} : { namespace };
    for await (const { id, vector, contents, metadata } of index.items({
      include: ["vector", "contents", "metadata"],
      ...scope,
    })) {
      items[id] = { vector: [...vector], contents, metadata };
    }
    return items;
  }
}

/** Vectors of float32, different for each seed. */
export function vectorOf(seed: number, dimension: number): number[] {
  return Array.from({ length: dimension }, (_, i) => Math.fround(Math.sin(seed * 12.9898 + i * i * 78.233)));
}
