// A Redis of its own on a free port, deleted afterwards; a local folder, if redis-server is not installed.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `given`: the URL of a server to use. */
export async function startRedis(given) {
  const at = (connectionString) => ({ location: "redis", connectionString });
  if (given !== undefined) return { name: "Redis", url: given, location: at(given), stop: () => undefined };
  const folder = mkdtempSync(join(tmpdir(), "sealdex-load-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  if (spawnSync("redis-server", ["--version"]).status !== 0) {
    const location = { location: "local", path: folder };
    return { name: "a local folder", url: `file:${folder}`, location, stop: remove };
  }
  const port = await freePort();
  const options = ["--port", `${port}`, "--dir", folder, "--save", "", "--appendonly", "yes"];
  const server = spawn("redis-server", options, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const chunk of server.stdout) if (String(chunk).includes("Ready to accept")) break;
  const url = `redis://127.0.0.1:${port}`;
  const stop = async () => {
    server.kill();
    await once(server, "exit");
    remove();
  };
  return { name: "Redis", url, location: at(url), stop };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
