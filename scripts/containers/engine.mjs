// The Docker that builds and starts what is checked: the daemon of this machine if one responds, or one that is started here, in
// a folder of its own and with stand-ins for the images of registries, made of Debian's packages and npm's.

import { execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { patience } from "../patience.mjs";

const recipes = dirname(fileURLToPath(import.meta.url));
const execute = promisify(execFile);

/** Why this machine starts no containers, which is no fault of what is checked. */
export class CannotStart extends Error {}

/** What a command prints. Throws with what it complained about. */
export async function run(command, args, options = {}) {
  try {
    const limits = { maxBuffer: 64 * 1024 * 1024, timeout: patience };
    return (await execute(command, args, { ...limits, ...options })).stdout;
  } catch (error) {
    const printed = `${error.stdout ?? ""}${error.stderr ?? ""}`.trim().split("\n").slice(-40).join("\n");
    throw new Error(`${command} ${args.join(" ")}: ${error.killed ? "timed out" : "failed"}\n${printed}`, {
      cause: error,
    });
  }
}

async function orCannotStart(reason, work) {
  try {
    return await work();
  } catch (error) {
    throw new CannotStart(`${reason}: ${error.message}`);
  }
}

function isInstalled(program) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
}

/**
 * `docker(...args)` runs a command, `stop()` ends what was started here. `images` are those that will be needed; `work` is a
 * folder to write to.
 */
export async function startEngine(work, images) {
  if (!isInstalled("docker")) throw new CannotStart("docker is not installed");
  const env = { ...process.env, DOCKER_BUILDKIT: "1", COMPOSE_DOCKER_CLI_BUILD: "1" };
  const docker = (...args) => run("docker", args, { env });
  const here = { docker, env, stop: async () => undefined };
  if (await responds(docker)) {
    await addPlugins(here, work);
    for (const image of images) {
      await docker("image", "inspect", image).catch(() =>
        orCannotStart(`${image} is not to be had`, () => docker("pull", "--quiet", image)),
      );
    }
    return here;
  }
  if (process.getuid?.() !== 0) throw new CannotStart("no Docker responds, and only root can start one");
  for (const program of ["dockerd", "ip", "mmdebstrap"]) {
    if (!isInstalled(program)) throw new CannotStart(`no Docker responds, and ${program} is not installed`);
  }
  images.forEach(recipeOf);
  const own = await startDaemon(env, work);
  try {
    await orCannotStart("the stand-ins for images cannot be made", () =>
      Promise.all([addPlugins(own, work), makeImages(own, work, images)]),
    );
    return own;
  } catch (error) {
    await own.stop();
    throw error;
  }
}

const responds = (docker) =>
  docker("info", "--format", "{{.ServerVersion}}").then(
    () => true,
    () => false,
  );

async function startDaemon(env, work) {
  const address = `unix://${join(work, "docker.sock")}`;
  const bridge = await addBridge();
  const path = join(work, "dockerd.log");
  const log = openSync(path, "w");
  const folders = ["--data-root", join(work, "data"), "--exec-root", join(work, "exec")];
  const settings = [...folders, "--pidfile", join(work, "pid"), "--bridge", bridge.name, "--host", address];
  const daemon = spawn("dockerd", settings, { stdio: ["ignore", log, log] });
  closeSync(log);
  const ended = once(daemon, "exit");
  const own = { ...env, DOCKER_HOST: address };
  delete own.DOCKER_CONTEXT;
  const docker = (...args) => run("docker", args, { env: own });
  const stop = async () => {
    daemon.kill();
    await ended;
    await bridge.remove();
  };
  for (let attempt = 0; daemon.exitCode === null && attempt < 120; attempt++) {
    if (await responds(docker)) return { docker, env: own, stop };
    await pause(500);
  }
  await stop();
  const lines = readFileSync(path, "utf8").trim().split("\n");
  throw new CannotStart(`dockerd ended: ${lines.at(-1)}`);
}

/**
 * A network of this run alone. On the bridge that all daemons share, a container that a killed daemon left behind still responds at its
 * address, which a new container gets as well.
 */
async function addBridge() {
  const name = `sealdex${process.pid}`;
  const ip = (...args) => orCannotStart("a network cannot be made", () => run("ip", args));
  await ip("link", "add", name, "type", "bridge");
  await ip("address", "add", `10.213.${randomInt(256)}.1/24`, "dev", name);
  await ip("link", "set", name, "up");
  return { name, remove: () => run("ip", ["link", "delete", name]) };
}

/** Compose and buildx, from the Debian release that has them, unless this machine does. */
async function addPlugins({ docker, env }, work) {
  const missing = ["compose", "buildx"].map((name) =>
    docker(name, "version").then(
      () => [],
      () => [`docker-${name}`],
    ),
  );
  const packages = (await Promise.all(missing)).flat();
  if (packages.length === 0) return;
  if (!isInstalled("apt-get")) throw new CannotStart(`${packages.join(" and ")} are not installed`);
  const folder = join(work, "plugins");
  mkdirSync(join(folder, "lists", "partial"), { recursive: true });
  const keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
  writeFileSync(
    join(folder, "sources.list"),
    `deb [signed-by=${keys}] http://deb.debian.org/debian trixie main\n`,
  );
  const settings = {
    "Dir::Etc::SourceList": join(folder, "sources.list"),
    "Dir::Etc::SourceParts": "-",
    "Dir::State::Lists": join(folder, "lists"),
    "Dir::Cache::pkgcache": "",
    "Dir::Cache::srcpkgcache": "",
    "APT::Sandbox::User": "root",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  await run("apt-get", [...options, "update", "-q"], { cwd: folder });
  await run("apt-get", [...options, "download", "-q", ...packages], { cwd: folder });
  await run("sh", ["-c", 'for file in *.deb; do dpkg-deb -x "$file" .; done'], { cwd: folder });
  // Settings of a user may name programs that this folder does not have.
  env.DOCKER_CONFIG = join(folder, "config");
  cpSync(join(folder, "usr/libexec/docker/cli-plugins"), join(env.DOCKER_CONFIG, "cli-plugins"), {
    recursive: true,
  });
}

function recipeOf(image) {
  const recipe = join(recipes, `${image.split(":")[0]}.Dockerfile`);
  if (!existsSync(recipe)) throw new Error(`${image}: expected ${recipe}, which makes a stand-in`);
  return recipe;
}

async function makeImages({ docker }, work, images) {
  const base = join(work, "base.tar");
  const contents = [
    "--variant=minbase",
    "--include=gosu,redis-server",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
  ];
  const quick = ["--quiet", "--mode=root", "--dpkgopt=force-unsafe-io"];
  const [node] = await Promise.all([
    nodeFolder(work, images),
    run("mmdebstrap", [...quick, ...contents, "bookworm", base]),
  ]);
  await docker("import", base, "base");
  await docker("run", "--rm", "--network", "none", "base", "true");
  for (const image of images) {
    const folder = image.startsWith("node:") ? node : recipes;
    await docker("build", "--quiet", "--file", recipeOf(image), "--tag", image, folder);
  }
  // The build of the image needs npm's registry.
  await docker("run", "--rm", images[0], "npm", "ping");
}

/** What the image of Node is made of. */
async function nodeFolder(work, images) {
  const version = images.map((image) => /^node:(\d+)-slim$/.exec(image)?.[1]).find(Boolean);
  const folder = join(work, "node");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  await run("npm", ["install", "--silent", "--no-audit", "--no-fund", `node@${version}`, "npm@10"], {
    cwd: folder,
  });
  const registry = (await run("npm", ["config", "get", "registry"], { cwd: folder })).trim();
  writeFileSync(join(folder, "npmrc"), `registry=${registry}\n`);
  const trusted = process.env.NODE_EXTRA_CA_CERTS ?? "/etc/ssl/certs/ca-certificates.crt";
  copyFileSync(trusted, join(folder, "certificates.pem"));
  return folder;
}
