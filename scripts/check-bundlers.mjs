// Packs the library, bundles a small app with every bundler of test/bundlers/, with nothing left out of the bundle and
// without the optional packages, runs each bundle, and prints a table of sizes and cold starts.
//
//   node scripts/check-bundlers.mjs [name of a bundler …]

import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const work = mkdtempSync(join(tmpdir(), "sealdex-bundlers-"));
cpSync(join(root, "test", "bundlers"), work, { recursive: true });
const npm = process.platform === "win32" ? "npm.cmd" : "npm";
const quiet = ["--silent", "--no-audit", "--no-fund"];
const [{ filename }] = JSON.parse(
  execFileSync(npm, ["pack", "--json", "--pack-destination", work], { cwd: root, encoding: "utf8" }),
);
execFileSync(npm, ["install", ...quiet], { cwd: work, stdio: "inherit" });
// Without its peers: npm would install those that the registry has.
execFileSync(npm, ["install", ...quiet, "--no-save", "--legacy-peer-deps", join(work, filename)], {
  cwd: work,
  stdio: "inherit",
});

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

const esbuild = (options) => async (out) => {
  const { build } = (await load("esbuild")).default;
  const outfile = join(out, options.format === "cjs" ? "main.cjs" : "main.mjs");
  await build({
    entryPoints: [entry],
    bundle: true,
    platform: "node",
    logLevel: "error",
    outfile,
    ...options,
  });
  return outfile;
};

/** How each bundles `entry` into a folder; the file to run. */
const bundlers = {
  "no bundler": async () => entry,
  "esbuild, ESM": esbuild({ format: "esm" }),
  "esbuild, CommonJS": esbuild({ format: "cjs" }),
  "esbuild, minified": esbuild({ format: "esm", minify: true }),
  async webpack(out) {
    const webpack = (await load("webpack")).default;
    const output = { path: out, filename: "main.cjs" };
    const compiler = webpack({ entry, output, mode: "production", target: "node20", context: work });
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
    const plugins = [nodeResolve({ exportConditions: ["node"], preferBuiltins: true }), commonjs()];
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
    execFileSync(process.execPath, [ncc, "build", entry, "--out", out, "--quiet", "--minify"], { cwd: work });
    return join(out, existsSync(join(out, "index.mjs")) ? "index.mjs" : "index.js");
  },
  "Next, Turbopack": next,
};

/** `next build` with its defaults; the app runs in a route. */
async function next(out) {
  const project = join(out, "project");
  mkdirSync(project, { recursive: true });
  cpSync(join(work, "next", "app"), join(project, "app"), { recursive: true });
  cpSync(join(work, "app.mjs"), join(project, "app.mjs"));
  cpSync(join(work, "package.json"), join(project, "package.json"));
  cpSync(join(work, "node_modules"), join(project, "node_modules"), {
    recursive: true,
    verbatimSymlinks: true,
  });
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };
  const cli = join(project, "node_modules", "next", "dist", "bin", "next");
  execFileSync(process.execPath, [cli, "build"], {
    cwd: project,
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return { cli, project, env };
}

/** What the app in a bundle prints. The bundle is moved away from all packages first. */
async function runBundle(file, out) {
  if (typeof file === "object") return runNext(file);
  const alone = file === entry ? file : join(mkdtempSync(join(tmpdir(), "sealdex-alone-")), "bundle");
  if (file !== entry) cpSync(out, alone, { recursive: true });
  const program = file === entry ? entry : join(alone, file.slice(out.length + 1));
  const started = performance.now();
  const output = execFileSync(process.execPath, [program], { encoding: "utf8", timeout: 120_000 });
  return { ...JSON.parse(output), processMs: Math.round(performance.now() - started) };
}

async function runNext({ cli, project, env }) {
  const port = await new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port: free } = server.address();
      server.close(() => resolve(free));
    });
  });
  const args = [cli, "start", "--hostname", "127.0.0.1", "--port", String(port)];
  const service = spawn(process.execPath, args, { cwd: project, env, stdio: ["ignore", "pipe", "inherit"] });
  try {
    await new Promise((resolve, reject) => {
      service.once("exit", () => reject(new Error("next start ended")));
      service.stdout.on("data", (text) => String(text).includes("Ready") && resolve());
    });
    return await (await fetch(`http://127.0.0.1:${port}/api/run`)).json();
  } finally {
    service.kill();
  }
}

function sizeOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && /\.[cm]?js$/.test(file.name))
    .reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
}

const chosen = process.argv.slice(2);
const failures = [];
console.log("| bundler | size (KiB) | first index and query (ms) | result |\n|---|---:|---:|---|");
for (const [name, bundle] of Object.entries(bundlers)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const out = join(work, "out", name.replace(/\W+/g, "-"));
  mkdirSync(out, { recursive: true });
  try {
    const file = await bundle(out);
    const result = await runBundle(file, out);
    if (!result.ok) throw new Error(JSON.stringify(result));
    const size = typeof file === "object" || file === entry ? "-" : Math.round(sizeOf(out) / 1024);
    console.log(`| ${name} | ${size} | ${result.coldStartMs} | runs |`);
  } catch (error) {
    failures.push(name);
    console.log(`| ${name} | - | - | fails |`);
    console.error(
      error.message.slice(0, 2000),
      String(error.stderr ?? "").slice(0, 2000),
      String(error.stdout ?? "").slice(0, 2000),
    );
  }
}
rmSync(work, { recursive: true, force: true });
if (failures.length > 0) throw new Error(`fails with: ${failures.join(", ")}`);
