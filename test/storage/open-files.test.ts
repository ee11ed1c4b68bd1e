/** Local disk in a process that may open few files. In a file of its own, since it starts Node with flags. */

import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { newFolder } from "../folder.js";

test("the number of calls at once is not limited by how many files may be open", async () => {
  const folder = await newFolder();
  const module = new URL("../../dist/esm/storage/local.js", import.meta.url).href;
  const script = `
    import { createLocalStore } from ${JSON.stringify(module)};
    const store = createLocalStore({ path: process.argv[1] });
    const keys = Array.from({ length: 500 }, (_, i) => "k" + i);
    await Promise.all(keys.map((key) => store.create(key, Buffer.from(key))));
    const read = await Promise.all([...keys, ...keys, ...keys, ...keys].map((key) => store.read(key, { offset: 0, length: 9 })));
    process.stdout.write(String(new Set(read.map(String)).size));
  `;
  const command = 'ulimit -n 200 && exec "$0" --input-type=module -e "$1" "$2"';
  const output = execFileSync("sh", ["-c", command, process.execPath, script, folder], { encoding: "utf8" });
  expect(output).toBe("500");
});
