// What every engine needs: rows of the base vectors, and bytes on disk.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Rows `start` to `end` of the base vectors, without a copy. */
export function rowsOf({ base, dimension }, start, end) {
  return Array.from({ length: end - start }, (_, i) =>
    base.subarray((start + i) * dimension, (start + i + 1) * dimension),
  );
}

export function folderBytes(path) {
  return readdirSync(path, { recursive: true }).reduce((sum, name) => {
    const file = statSync(join(path, name));
    return file.isFile() ? sum + file.size : sum;
  }, 0);
}
