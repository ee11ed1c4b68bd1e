/** The index to move into. */

import { readFile, writeFile } from "node:fs/promises";
import {
  type Client,
  createClient,
  fileKey,
  generateKey,
  type IndexKey,
  type Metric,
  SealdexError,
  type VectorIndex,
} from "sealdex/core";
import { locationForms, parseLocation } from "sealdex/wire";
import { invalid } from "./source.js";

export interface TargetOptions {
  readonly to: string;
  readonly index: string;
  readonly keyFile: string;
  readonly apiKey: string | undefined;
}

export interface NewIndex {
  readonly metric: Metric | undefined;
  readonly textIndex: boolean;
}

export class Target {
  readonly #options: TargetOptions;
  readonly #client: Client;

  constructor(options: TargetOptions) {
    this.#options = options;
    this.#client = /^https?:\/\//.test(options.to)
      ? createClient({ baseUrl: options.to, apiKey: options.apiKey })
      : createClient({ indexLocation: locationOf(options.to), automaticTraining: false });
  }

  /** A service trains its indexes itself. */
  get trainsItself(): boolean {
    return this.#client.kind === "http";
  }

  async exists(): Promise<boolean> {
    return (await this.#client.listIndexes()).includes(this.#options.index);
  }

  /** Opens the index. With an anchor, only the index that had it; any other is `rollback_detected`. */
  async load(anchor?: string): Promise<VectorIndex> {
    const { index: indexName, keyFile } = this.#options;
    const open = (indexKey: IndexKey) =>
      this.#client.loadIndex({ indexName, indexKey, ...(anchor !== undefined && { anchor }) });
    if (this.trainsItself) return open(await readKey(keyFile));
    try {
      return await open(fileKey(keyFile));
    } catch (error) {
      // As `sealdex-server` creates them: the key of the index itself is in the file.
      if (!(error instanceof SealdexError && error.code === "wrong_index_key")) throw error;
      return open(await readKey(keyFile));
    }
  }

  /** Creates the index. A key file that does not exist gets a new key. */
  async create({ metric, textIndex }: NewIndex): Promise<VectorIndex> {
    if (metric === undefined) {
      throw invalid("--metric: the source does not say how it compares vectors; give cosine or euclidean");
    }
    const { index: indexName, keyFile } = this.#options;
    await makeKey(keyFile);
    const indexKey = this.trainsItself ? await readKey(keyFile) : fileKey(keyFile);
    return this.#client.createIndex({ indexName, indexKey, metric, textIndex });
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

async function readKey(path: string): Promise<string> {
  return (await readFile(path, "utf8")).trim();
}

async function makeKey(path: string): Promise<void> {
  try {
    await writeFile(path, `${generateKey()}\n`, { flag: "wx", mode: 0o600, flush: true });
    process.stderr.write(`Wrote a new key to ${path}. Keep a copy: nothing can replace it.\n`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** May hold a password, so no message repeats it. */
function locationOf(to: string) {
  const location = parseLocation(to);
  if (location?.location === "memory") throw invalid("--to: expected storage that outlives the command");
  if (location !== undefined) return location;
  throw invalid(`--to: expected ${locationForms}, or the http(s):// URL of a service`);
}
