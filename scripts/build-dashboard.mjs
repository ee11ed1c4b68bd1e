// Builds the pages of the dashboard into packages/server/dist/admin/: one script and one style sheet, with everything they need.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(root, "packages", "server", "admin");
const out = join(root, "packages", "server", "dist", "admin");

mkdirSync(out, { recursive: true });
const { metafile } = await build({
  entryPoints: { app: join(source, "main.tsx") },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  // The library as it was just built: its sources are in TypeScript with other settings.
  alias: { "sealdex/client": join(root, "dist", "esm", "client", "client.js") },
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});
for (const name of ["index.html", "favicon.svg"]) copyFileSync(join(source, name), join(out, name));

// The licenses of what the bundle holds ask for their texts to go along.
const packages = new Set(
  Object.keys(metafile.inputs).flatMap(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  ),
);
const licenses = [...packages].sort().map((name) => {
  const folder = join(root, "node_modules", name);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8")}`;
});
writeFileSync(join(out, "licenses.txt"), licenses.join("\n\n"));
