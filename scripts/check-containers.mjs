// Builds packages/server/deploy/Dockerfile, starts it and packages/server/deploy/compose.yaml, and uses the service as people do: issues an API key in the
// container, stores and finds items, stops while items are written, starts again. What was acknowledged must be there, and no
// secret in a log. `node scripts/check-containers.mjs` needs Docker, or root, dockerd, ip and mmdebstrap; without them it says that nothing
// was started, and is no failure.

import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "sealdex/client";
import { CannotStart, startEngine } from "./containers/engine.mjs";
import { patience, untilOk } from "./patience.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const composeFile = join(root, "packages", "server", "deploy", "compose.yaml");
const work = mkdtempSync(join(tmpdir(), "sealdex-containers-"));
const secret = () => randomBytes(32).toString("hex");
const project = "sealdex-check";
const image = `${project}-image`;
const rootKey = secret();
const password = secret();
const item = { vector: [1, 0, 0, 0], contents: `text ${secret()}`, metadata: { page: secret() } };
/** What no log may hold. */
const secrets = [rootKey, password, item.contents, item.metadata.page];

/** The images that the files begin with, in their order. */
function imagesOf(...files) {
  const text = files
    .map((name) => readFileSync(join(root, "packages", "server", "deploy", name), "utf8"))
    .join("\n");
  const images = [...text.matchAll(/^(?:FROM|\s+image:) (\S+:\S+)/gm)].map(([, name]) => name);
  return [...new Set(images)];
}

function expect(what, holds, found) {
  if (!holds) throw new Error(`expected ${what}, found: ${String(found).trim()}`);
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Neither root nor able to become it, on a root that cannot be written. */
async function checkConfined(docker, container, user) {
  const status = await docker("exec", container, "cat", "/proc/1/status");
  expect(
    `${container} to run as ${user}`,
    status.includes(`Uid:\t${user}\t${user}\t${user}\t${user}`),
    status,
  );
  expect(`${container} without capabilities`, /^CapBnd:\t0+$/m.test(status), status);
  expect(`${container} without new privileges`, /^NoNewPrivs:\t1$/m.test(status), status);
  const refusal = await docker("exec", container, "touch", "/etc/written").catch(String);
  expect(`the root of ${container} to be read-only`, refusal.includes("Read-only file system"), refusal);
}

/** A user of the service in a container. */
class User {
  #docker;
  #container;
  #url;
  #apiKey;
  #indexKey = secret();
  #stored = 0;

  constructor(docker, container, url) {
    Object.assign(this, { container });
    this.#docker = docker;
    this.#container = container;
    this.#url = url;
  }

  get stored() {
    return this.#stored;
  }

  /** Gets an API key as an operator issues one, creates an index and finds what is stored in it. */
  async begin() {
    const create = ["sealdex-server", "keys", "create", "--name", "check", "--scope", "admin"];
    this.#apiKey = (await this.#docker("exec", this.#container, ...create)).trim();
    expect("an API key", /^sealdex_[0-9a-f]{88}$/.test(this.#apiKey), this.#apiKey);
    secrets.push(this.#apiKey, this.#indexKey);
    const index = await this.#client().createIndex({
      indexName: "check",
      indexKey: this.#indexKey,
      indexConfig: { type: "ivfflat", dimension: 4 },
    });
    await index.upsert([
      { id: "a", ...item },
      { id: "b", vector: [0, 1, 0, 0] },
    ]);
    this.#stored = 2;
    await this.check();
  }

  /** Stores items one after the other while the service is stopped, and counts those that were acknowledged. */
  async writeWhile(stop) {
    const index = await this.#index();
    const ended = new AbortController();
    const first = this.#stored;
    let stopping;
    for (;;) {
      const write = index.upsert([{ id: `c${this.#stored}`, vector: [0, 0, 1, 0] }], {
        signal: ended.signal,
      });
      if (
        !(await write.then(
          () => true,
          () => false,
        ))
      )
        break;
      this.#stored += 1;
      if (this.#stored === first + 5) stopping = stop().finally(() => ended.abort());
    }
    expect("5 writes before the service stops", stopping !== undefined, this.#stored - first);
    await stopping;
  }

  /** Everything that was acknowledged is there; one item more may be, whose acknowledgement was lost. */
  async check() {
    const index = await this.#index();
    const count = await index.count();
    expect(`${this.#stored} items`, count === this.#stored || count === this.#stored + 1, count);
    this.#stored = count;
    const [match] = await index.query({
      queryVector: item.vector,
      topK: 1,
      include: ["contents", "metadata"],
    });
    const { id, contents, metadata } = match;
    expect("the item that was stored", id === "a" && contents === item.contents, JSON.stringify(match));
    expect("its metadata", metadata.page === item.metadata.page, JSON.stringify(metadata));
  }

  #client() {
    return createClient({ baseUrl: this.#url, apiKey: this.#apiKey, timeoutMs: patience });
  }

  #index() {
    return this.#client().loadIndex({ indexName: "check", indexKey: this.#indexKey });
  }
}

function checkLog(name, log, line) {
  expect(`${name} with ${line}`, log.includes(line), log);
  for (const text of secrets) expect(`no secret in ${name}`, !log.includes(text), text);
}

async function checkStopped(docker, container) {
  const code = (await docker("inspect", "--format", "{{.State.ExitCode}}", container)).trim();
  expect(`${container} to end with the exit code 0`, code === "0", code);
}

/** The image alone, with its data in a volume. */
async function checkImage(docker) {
  await docker(
    "build",
    "--file",
    join(root, "packages", "server", "deploy", "Dockerfile"),
    "--tag",
    image,
    root,
  );
  const key = (await docker("run", "--rm", image, "generate-key")).trim();
  expect("a key", /^[0-9a-f]{64}$/.test(key), key);
  const port = await freePort();
  const limits = [
    "--read-only",
    "--tmpfs",
    "/tmp",
    "--cap-drop",
    "ALL",
    "--security-opt",
    "no-new-privileges",
  ];
  const variables = [`SEALDEX_ROOT_KEY=${rootKey}`, "SEALDEX_INDEX_LOCATION=file:/data"];
  const settings = [...variables.flatMap((variable) => ["--env", variable]), "--volume", `${image}:/data`];
  const publish = ["--publish", `127.0.0.1:${port}:8000`];
  try {
    await docker("run", "--detach", "--name", image, ...limits, ...settings, ...publish, image);
    const url = `http://127.0.0.1:${port}`;
    await untilOk(`${url}/v1/health/ready`);
    await checkConfined(docker, image, 1000);
    const user = new User(docker, image, url);
    await user.begin();
    await user.writeWhile(() => docker("stop", "--time", "120", image));
    await checkStopped(docker, image);
    await docker("start", image);
    await untilOk(`${url}/v1/health/ready`);
    await user.check();
    checkLog("the log", await docker("logs", image), '"route":"/v1/vectors/query');
    return user.stored;
  } catch (error) {
    console.error(await docker("inspect", "--format", "{{json .State}}", image).catch(String));
    console.error(await docker("logs", "--tail", "40", image).catch(String));
    throw error;
  } finally {
    await docker("rm", "--force", "--volumes", image).catch(() => undefined);
    await docker("volume", "rm", "--force", image).catch(() => undefined);
    await docker("image", "rm", "--force", image).catch(() => undefined);
  }
}

/** The service with Redis: started, stopped and started again, then replaced by one of two processes. */
async function checkCompose({ docker, env }) {
  const port = await freePort();
  Object.assign(env, { SEALDEX_ROOT_KEY: rootKey, REDIS_PASSWORD: password, SEALDEX_PORT: String(port) });
  const compose = (...args) => docker("compose", "--project-name", project, "--file", composeFile, ...args);
  const container = (service) => compose("ps", "--all", "--quiet", service).then((id) => id.trim());
  try {
    await compose("up", "--wait");
    const service = await container("sealdex");
    await checkConfined(docker, service, 1000);
    await checkConfined(docker, await container("redis"), 999);
    const user = new User(docker, service, `http://127.0.0.1:${port}`);
    await user.begin();
    await user.writeWhile(() => compose("stop"));
    await checkStopped(docker, service);
    await checkStopped(docker, await container("redis"));
    await compose("up", "--wait");
    await user.check();
    const log = await compose("logs", "--no-color");

    await compose("down");
    env.SEALDEX_PROCESSES = "2";
    await compose("up", "--wait");
    await user.check();
    checkLog("the log", `${log}${await compose("logs", "--no-color")}`, '"route":"/v1/vectors/query');
    const run = (...args) => compose("exec", "-T", "sealdex", ...args);
    await run("sealdex-server", "health", "--ready");
    const verified = await run("sealdex-server", "audit", "verify");
    expect("an audit log with lines", /: [1-9]\d* lines, complete$/m.test(verified), verified);
    checkLog("the audit log", await run("sh", "-c", "cat /audit/*"), "/v1/vectors/query");
    return user.stored;
  } catch (error) {
    console.error(await compose("logs", "--no-color", "--tail", "40").catch(String));
    throw error;
  } finally {
    await compose("down", "--volumes", "--rmi", "local").catch(() => undefined);
  }
}

let engine;
try {
  engine = await startEngine(work, imagesOf("Dockerfile", "compose.yaml"));
  const inImage = await checkImage(engine.docker);
  const inCompose = await checkCompose(engine);
  console.log(
    `Containers: the image was built and started twice, the compose file three times; ${inImage} and ${inCompose} items were kept.`,
  );
} catch (error) {
  if (!(error instanceof CannotStart)) throw error;
  console.log(`Containers were not started: ${error.message}`);
} finally {
  await engine?.stop();
  rmSync(work, { recursive: true, force: true });
}
