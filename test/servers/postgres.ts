/** PostgreSQL with a cluster of its own, which wants a password. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import {
  deleteFolder,
  findProgram,
  freePorts,
  type ProcessUser,
  type RestartableServer,
  ServerProcess,
  temporaryFolder,
  type TestServer,
} from "./test-server.js";

const password = "between-postgres-and-us";

export const postgres: TestServer = {
  name: "postgres",
  variable: "SEALDEX_TEST_POSTGRES_URL",
  packages: ["postgresql-15"],
  isInstalled: () => find("initdb") !== undefined && find("postgres") !== undefined,
  start: () => startPostgres(),
};

/** Debian keeps what is no command for users out of the path, a folder a version. */
function find(name: string): string | undefined {
  const versions = "/usr/lib/postgresql";
  return findProgram(
    name,
    folders(versions)
      .map((version) => join(versions, version, "bin"))
      .reverse(),
  );
}

function folders(path: string): string[] {
  try {
    return readdirSync(path).sort((a, b) => Number(a) - Number(b));
  } catch {
    return [];
  }
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): ProcessUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

export async function startPostgres(): Promise<RestartableServer> {
  const user = unprivilegedUser();
  const folder = await temporaryFolder("postgres", user);
  const [port] = await freePorts(1);
  await writeFile(join(folder, "password"), password, { mode: 0o644 });
  const options = [
    "-D",
    join(folder, "data"),
    "-U",
    "postgres",
    "-A",
    "scram-sha-256",
    "--no-sync",
    "-E",
    "UTF8",
  ];
  const making = spawn(find("initdb") as string, [...options, "--pwfile", join(folder, "password")], {
    stdio: "ignore",
    ...user,
  });
  const [code] = await once(making, "exit");
  if (code !== 0) throw new Error(`initdb failed with ${code}`);

  const command = [
    find("postgres") as string,
    "-D",
    join(folder, "data"),
    "-p",
    `${port}`,
    "-c",
    "listen_addresses=127.0.0.1",
    "-c",
    `unix_socket_directories=${folder}`,
    // The processes are killed in tests, the machine is not: what was handed to the system is safe.
    "-c",
    "fsync=off",
  ];
  const address = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  let server: ServerProcess;
  const up = async () => {
    server = await new ServerProcess(command, folder, "postgres", user).ready(() => answers(address));
  };
  await up();
  return {
    address,
    up,
    // Without waiting for clients to leave; or at once, as in a crash.
    down: () => server.end("SIGINT"),
    kill: () => server.end("SIGQUIT"),
    async pause() {
      await server.signal("SIGSTOP");
      await signalChildren("SIGSTOP");
    },
    async resume() {
      await signalChildren("SIGCONT");
      await server.signal("SIGCONT");
    },
    async stop() {
      await server.end("SIGQUIT");
      await deleteFolder(folder);
    },
  };

  /** Each of its connections has a process, which it started. While it is stopped itself, none of them goes away. */
  async function signalChildren(signal: NodeJS.Signals): Promise<void> {
    const pid = await server.pid;
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
    for (const child of children.trim().split(" ")) process.kill(Number(child), signal);
  }
}

async function answers(address: string): Promise<boolean> {
  const client = new Client({ connectionString: address });
  client.on("error", () => undefined);
  await client.connect();
  await client.end();
  return true;
}
