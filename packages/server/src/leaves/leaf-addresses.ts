/** The addresses of leaves: a list, or those that DNS has for the name of a headless service. */

import { lookup } from "node:dns/promises";
import { invalid } from "sealdex/wire";

/** How long names are taken to have the addresses that were found. */
const resolvedMs = 5000;

/** Base URLs, such as `http://10.0.0.7:8000`. */
export type FindLeaves = () => Promise<readonly string[]>;

/** Throws `invalid_request` unless `text` is a list of URLs, or `dns://name:port`. */
export function parseLeaves(text: string, where: string): FindLeaves {
  const form = /^dns:\/\/([^/:,]+):(\d{1,5})\/?$/.exec(text);
  if (form !== null) return resolving(form[1], form[2]);
  const urls = text.split(",").map((each) => each.trim());
  if (!urls.every((url) => /^https?:\/\//.test(url) && URL.canParse(url))) {
    throw invalid(
      `${where}: expected URLs such as http://leaf-0:8000, separated by commas, or dns://name:port`,
    );
  }
  const leaves = urls.map((url) => new URL(url).origin);
  return async () => leaves;
}

/** While DNS does not answer, the addresses that it had last are taken. */
function resolving(hostname: string, port: string): FindLeaves {
  let found: Promise<readonly string[]> | undefined;
  let foundAt = -Infinity;
  const find = async () => {
    const addresses = await lookup(hostname, { all: true });
    return addresses
      .map(({ address, family }) => `http://${family === 6 ? `[${address}]` : address}:${port}`)
      .sort();
  };
  return () => {
    const now = performance.now();
    if (now - foundAt < resolvedMs && found !== undefined) return found;
    foundAt = now;
    const before = found;
    found = find().catch((error: unknown) => {
      if (before === undefined) throw error;
      return before;
    });
    return found;
  };
}
