// Shows that what was stored is of no use to anyone without the key.

import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient, generateKey, SealdexEmbeddings } from "sealdex";

const run = promisify(execFile);
const samplesMax = 100;

/** The ids that a new process finds for the question, given nothing but the folder and the key. */
export async function askInNewProcess({ path, indexName, indexKey, question, k }) {
  const program = fileURLToPath(new URL("reopen.mjs", import.meta.url));
  // The key travels in the environment: arguments of a process can be seen by others.
  const environment = { ...process.env, SEALDEX_QUICKSTART_KEY: indexKey };
  const args = [program, path, indexName, question, String(k)];
  const { stdout } = await run(process.execPath, args, { env: environment });
  return JSON.parse(stdout);
}

/** The error that a wrong key gives. */
export async function tryWrongKey({ path, indexName }) {
  const client = createClient({ indexLocation: { location: "local", path } });
  try {
    await client.loadIndex({ indexName, indexKey: generateKey() });
    throw new Error("a wrong key opened the index");
  } catch (error) {
    if (error.code !== "wrong_index_key") throw error;
    return error;
  } finally {
    await client.close();
  }
}

/**
 * Searches all stored bytes for plaintext of a sample of passages: words of the text, id, source, heading, and the
 * vector's numbers; as they are and in hexadecimal and base64.
 */
export async function searchStoredBytes(path, passages) {
  const stored = await readFolder(path);
  const step = Math.max(1, Math.floor(passages.length / samplesMax));
  const sample = passages.filter((_, i) => i % step === 0);
  const vectors = await new SealdexEmbeddings().embedDocuments(sample.map(({ pageContent }) => pageContent));
  const needles = sample.flatMap(({ id, pageContent, metadata }, i) => {
    const numbers = Buffer.from(Float32Array.from(vectors[i]).buffer, 0, 64);
    const texts = [id, pageContent.slice(-40), metadata.source, metadata.heading].filter(
      (text) => text.length >= 8,
    );
    return [...texts.map((text) => Buffer.from(text)), numbers];
  });
  const found = [...new Set(needles)].filter((needle) =>
    stored.some(
      (bytes) =>
        bytes.includes(needle) ||
        bytes.includes(needle.toString("hex")) ||
        bytes.includes(needle.toString("base64")),
    ),
  );
  return {
    samples: needles.length,
    found: found.length,
    objects: stored.length,
    bytes: stored.reduce((sum, { length }) => sum + length, 0),
  };
}

async function readFolder(path) {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(files.map((entry) => readFile(join(entry.parentPath ?? entry.path, entry.name))));
}
