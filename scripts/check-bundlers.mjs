// Packs the library and bundles a small app with every bundler of test/bundlers/, with nothing left out of the bundle; prints a
// table of sizes and cold starts. Each bundle runs in a folder without packages, three times: built where no optional
// package is installed; with all of them, on servers that run and on ports where none listens, and with embedding
// models; and, minified, with a driver that is too old.
//
//   node scripts/check-bundlers.mjs [name of a bundler …]
//
// The servers are those of CONTRIBUTING.md. SEALDEX_BUNDLED_WITHOUT=servers leaves them out.

import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runnerImport } from "vite";
import { bundlersIn } from "./bundlers.mjs";
import { withNext } from "./next.mjs";
import { packAll } from "./packed.mjs";
import { patience } from "./patience.mjs";
import { npm, root } from "./stage-package.mjs";

const outer = mkdtempSync(join(tmpdir(), "sealdex-bundlers-"));
const work = join(outer, "project");
cpSync(join(root, "test", "bundlers"), work, { recursive: true });
const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const quick = ["--silent", "--no-audit", "--no-fund"];

/** Besides the bundlers, and without peers: npm would install those that the registry has. */
function install(...packages) {
  const args = ["install", ...quick, "--no-save", "--legacy-peer-deps", ...packages];
  execFileSync(npm, args, { cwd: work, stdio: "inherit" });
}

const { sealdex: library, "sealdex-model": model } = packAll(outer);
const chosen = process.argv.slice(2);
const bundlers = Object.entries(bundlersIn(work)).filter(
  ([name]) => chosen.length === 0 || chosen.includes(name),
);
const failures = [];
let bundles = 0;
const withPackages = "with optional packages";
const withOldDriver = "with an old driver";

async function check(name, bundle, phase, app) {
  const out = join(work, "out", `${phase} ${name}`.replace(/\W+/g, "-"));
  mkdirSync(out, { recursive: true });
  try {
    const file = await bundle(out, [withPackages, withOldDriver].includes(phase));
    const results = [];
    // Of several times the shortest: the first is also that of a cold disk.
    for (let run = 0; run < (app === undefined ? 3 : 1); run++) {
      const result = await runBundle(file, out, app);
      if (!result.ok) throw new Error(JSON.stringify(result, null, 2));
      results.push(result);
    }
    const coldStartMs = Math.min(...results.map((result) => result.coldStartMs));
    return { coldStartMs, size: sizeOf(out, file) };
  } catch (error) {
    failures.push(`${name}, ${phase}`);
    const parts = [error.message, error.stderr, error.stdout].map((text) =>
      String(text ?? "").slice(0, 4000),
    );
    console.error(`${name}, ${phase}: ${parts.join("\n")}`);
    return undefined;
  }
}

/** What the app in a bundle prints. The bundle is moved away from all packages but transformers.js. */
async function runBundle(file, out, app) {
  const env = app === undefined ? {} : { SEALDEX_APP: JSON.stringify(app) };
  if (typeof file === "object") {
    return withNext(file.project, env, async (url) => (await fetch(`${url}/api/run`)).json());
  }
  const isBundle = file.startsWith(out);
  const alone = join(outer, "alone", String(bundles++));
  if (isBundle) cpSync(out, alone, { recursive: true });
  const program = isBundle ? join(alone, file.slice(out.length + 1)) : file;
  const options = {
    cwd: dirname(program),
    encoding: "utf8",
    timeout: patience,
    env: { ...process.env, ...env },
  };
  return JSON.parse(execFileSync(process.execPath, [program], options));
}

/**
 * It has native code, and is not bundled. Above the project and the bundles: npm would delete what it did not install in a
 * project's own folder, the link's target included.
 */
function linkTransformers() {
  const modules = join(outer, "node_modules");
  mkdirSync(modules);
  symlinkSync(join(root, "node_modules", "@huggingface"), join(modules, "@huggingface"), "junction");
}

/** In KiB, of all JavaScript files; "-" if the bundle has a package manager's folder. */
function sizeOf(folder, file) {
  if (typeof file === "object" || !file.startsWith(folder)) return "-";
  const bytes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?js$/.test(entry.name))
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
  return Math.round(bytes / 1024);
}

async function importTest(file) {
  const env = { ...process.env };
  const options = { root, logLevel: "error", configFile: false };
  const { module } = await runnerImport(join(root, "test", file), options);
  // Vite sets NODE_ENV, by which bundlers would build for development.
  process.env = env;
  return module;
}

/** Addresses for `packages.mjs`, and what ends the servers. */
async function startServers() {
  const { redis } = await importTest("servers/redis.ts");
  const { postgres } = await importTest("servers/postgres.ts");
  const { ceph } = await importTest("servers/ceph.ts");
  const running = await Promise.all([redis, postgres, ceph].map((server) => server.start()));
  const [redisUrl, postgresUrl, s3Url] = running.map(({ address }) => address);
  const { origin: endpoint, username: accessKey, password: secretKey } = new URL(s3Url);
  const { CreateBucketCommand, S3Client } = await import("@aws-sdk/client-s3");
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey };
  const s3 = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials });
  await s3.send(new CreateBucketCommand({ Bucket: "bundled" }));
  s3.destroy();
  const bucket = { location: "s3", bucket: "bundled", endpoint, accessKey, secretKey };
  const other = (url) => Object.assign(new URL(url), { password: "other" }).href;
  return {
    up: [
      { location: "redis", connectionString: redisUrl },
      { location: "postgres", connectionString: postgresUrl },
      bucket,
    ],
    refusing: [
      [{ location: "redis", connectionString: other(redisUrl) }, "WRONGPASS"],
      [
        { location: "postgres", connectionString: other(postgresUrl) },
        "password authentication failed|28P01",
      ],
      [{ ...bucket, secretKey: "other" }, "SignatureDoesNotMatch"],
    ],
    stop: () => Promise.all(running.map((server) => server.stop())),
  };
}

const at = (indexLocation) => ({ indexLocation, storageTimeoutMs: 5000 });
const closed = [
  { location: "redis", connectionString: "redis://127.0.0.1:1" },
  { location: "postgres", connectionString: "postgres://127.0.0.1:1/d" },
  { location: "s3", bucket: "bucket", endpoint: "http://127.0.0.1:1", accessKey: "a", secretKey: "s" },
].map((location) => ({ client: at(location), expected: "^storage_unavailable: .*ECONNREFUSED" }));

const withServers = process.env.SEALDEX_BUNDLED_WITHOUT !== "servers";
const { up, refusing, stop } = withServers
  ? await startServers()
  : { up: [], refusing: [], stop: async () => {} };
try {
  execFileSync(npm, ["install", ...quick], { cwd: work, stdio: "inherit" });
  install(library);
  // npm installs the optional dependency if the registry has it.
  rmSync(join(work, "node_modules", "sealdex-model"), { recursive: true, force: true });
  const rows = new Map();
  for (const [name, bundle] of bundlers)
    rows.set(name, [await check(name, bundle, "without optional packages")]);

  const drivers = ["ioredis", "pg", "@aws-sdk/client-s3"].map((name) => `${name}@${devDependencies[name]}`);
  install(library, model, ...drivers);
  linkTransformers();
  const { buildModels } = await importTest("embedding/small-models.ts");
  const models = { localFolder: await buildModels(), offline: true };
  const embedding = { client: { indexLocation: { location: "memory" }, models } };
  const steps = [
    ...up.map((location) => [{ client: at(location), index: {}, expected: "^found$" }]),
    ...refusing.map(([location, reason]) => [
      { client: at(location), expected: `^storage_unavailable: .*(${reason})` },
    ]),
    // Each tries to connect until its time is up.
    closed,
    ...["default", "small-embedder"].map((embeddingModel) => [
      { ...embedding, index: { embeddingModel }, expected: "^found$" },
    ]),
    [{ ...embedding, index: { embeddingModel: "unknown" }, expected: "^invalid_request: .*no such model" }],
  ];
  for (const [name, bundle] of bundlers) {
    rows.get(name).push(await check(name, bundle, withPackages, steps));
  }

  console.log(
    "| bundler | size (KiB) | first index and query (ms) | with optional packages (KiB) | result |",
  );
  console.log("|---|---:|---:|---:|---|");
  for (const [name, [alone, whole]] of rows) {
    const result = alone !== undefined && whole !== undefined ? "runs" : "fails";
    console.log(`| ${name} | ${alone?.size} | ${alone?.coldStartMs} | ${whole?.size} | ${result} |`);
  }

  const unloadable = [
    [{ ...closed[0], expected: "^not_supported: .*ioredis.*does not load .Dynamic require" }],
  ];
  for (const [name, bundle] of bundlers) {
    if (name !== "esbuild, minified") continue;
    const result = await check(name, bundle, "with a driver that does not load", unloadable);
    if (result !== undefined) console.log(`With a driver that does not load: ${name} says so`);
  }

  install(library, "ioredis@4");
  const old = [
    [
      {
        client: at(closed[0].client.indexLocation),
        expected: "^not_supported: .*ioredis.*got a version without Redis",
      },
    ],
  ];
  for (const [name, bundle] of bundlers) {
    if (!["esbuild, minified", "webpack", "ncc"].includes(name)) continue;
    const result = await check(name, bundle, withOldDriver, old);
    if (result !== undefined) console.log(`With an old driver: ${name} says so`);
  }
} finally {
  await stop();
  rmSync(outer, { recursive: true, force: true });
}
if (failures.length > 0) throw new Error(`fails: ${failures.join("; ")}`);
