// The bundlers of test/bundlers/: how each makes one program of the app there and all that it imports.

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildNext } from "./next.mjs";

const esbuildBanner =
  'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/**
 * By name, a function that bundles the app in the folder `work` into a folder: the file to run, or for Next the project.
 * `work` has the bundlers in its node_modules. `hasPackages`, of the function: whether optional packages are to work.
 */
export function bundlersIn(work) {
  const entry = join(work, "main.mjs");
  const load = (name) => import(pathToFileURL(resolveFrom(name)).href);
  function resolveFrom(name) {
    return execFileSync(
      process.execPath,
      [
        "--input-type=module",
        "-e",
        `import { fileURLToPath } from "node:url"; process.stdout.write(fileURLToPath(import.meta.resolve(${JSON.stringify(name)})))`,
      ],
      { cwd: work, encoding: "utf8" },
    );
  }

  const esbuild = (options) => async (out, hasPackages) => {
    const { build } = (await load("esbuild")).default;
    const outfile = join(out, options.format === "cjs" ? "main.cjs" : "main.mjs");
    await build({
      entryPoints: [entry],
      bundle: true,
      platform: "node",
      logLevel: "error",
      outfile,
      // Drivers are CommonJS: they ask for Node's modules by a `require` that ES modules do not have.
      ...(hasPackages && options.format === "esm" && { banner: { js: esbuildBanner } }),
      ...options,
    });
    return outfile;
  };

  return {
    "no bundler": async () => entry,
    "esbuild, ESM": esbuild({ format: "esm" }),
    "esbuild, CommonJS": esbuild({ format: "cjs" }),
    "esbuild, minified": esbuild({ format: "esm", minify: true }),
    async webpack(out) {
      const webpack = (await load("webpack")).default;
      const output = { path: out, filename: "main.cjs" };
      // Minifying is most of its time. The bundles of esbuild and ncc are minified.
      const optimization = { minimize: false };
      const compiler = webpack({
        entry,
        output,
        optimization,
        mode: "production",
        target: "node20",
        context: work,
      });
      const stats = await new Promise((resolve, reject) =>
        compiler.run((error, done) => (error ? reject(error) : resolve(done))),
      );
      if (stats.hasErrors()) throw new Error(stats.toString({ all: false, errors: true }));
      return join(out, "main.cjs");
    },
    async Rollup(out) {
      const { rollup } = await load("rollup");
      const { nodeResolve } = await load("@rollup/plugin-node-resolve");
      const commonjs = (await load("@rollup/plugin-commonjs")).default;
      // For the package.json that the AWS SDK imports.
      const json = (await load("@rollup/plugin-json")).default;
      const plugins = [nodeResolve({ exportConditions: ["node"], preferBuiltins: true }), commonjs(), json()];
      const bundle = await rollup({ input: entry, plugins, onwarn: () => {} });
      await bundle.write({ dir: out, format: "es", entryFileNames: "main.mjs" });
      return join(out, "main.mjs");
    },
    async Rolldown(out) {
      const { build } = await load("rolldown");
      await build({
        input: entry,
        platform: "node",
        logLevel: "silent",
        output: { dir: out, format: "esm", entryFileNames: "main.mjs" },
      });
      return join(out, "main.mjs");
    },
    async "Vite, SSR"(out) {
      const { build } = await load("vite");
      await build({
        root: work,
        logLevel: "error",
        ssr: { noExternal: true },
        build: { ssr: entry, outDir: out, rollupOptions: { output: { entryFileNames: "main.mjs" } } },
      });
      return join(out, "main.mjs");
    },
    async ncc(out) {
      const ncc = join(work, "node_modules", "@vercel", "ncc", "dist", "ncc", "cli.js");
      execFileSync(process.execPath, [ncc, "build", entry, "--out", out, "--quiet", "--minify"], {
        cwd: work,
      });
      return join(out, existsSync(join(out, "index.mjs")) ? "index.mjs" : "index.js");
    },
    "Next, Turbopack": next,
  };

  /** `next build` with its defaults; the app runs in a route. */
  async function next(out) {
    const project = join(out, "project");
    mkdirSync(project, { recursive: true });
    cpSync(join(work, "next", "app"), join(project, "app"), { recursive: true });
    for (const name of ["app.mjs", "packages.mjs", "run.mjs"]) cpSync(join(work, name), join(project, name));
    cpSync(join(work, "package.json"), join(project, "package.json"));
    cpSync(join(work, "node_modules"), join(project, "node_modules"), {
      recursive: true,
      verbatimSymlinks: true,
    });
    await buildNext(project);
    return { project };
  }
}
