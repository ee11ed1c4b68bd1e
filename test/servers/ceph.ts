/**
 * A real S3 server: Ceph's object gateway over one monitor and one object store, on loopback, with data in memory or in
 * a file. It honors conditional writes, which most small S3 servers ignore.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const packages = ["radosgw", "ceph-mon", "ceph-osd", "ceph-common"];
export const install = `apt-get install -y --no-install-recommends ${packages.join(" ")}`;

/** As every server for tests is described. Its address has the credentials of its one user. */
export const ceph = {
  name: "s3",
  variable: "SEALDEX_TEST_S3_URL",
  packages,
  isInstalled: () => programs.every(isInstalled),
  async start(): Promise<{ readonly address: string; stop(): Promise<void> }> {
    const server = await startCeph();
    if (server === null) throw new Error(`ceph: not installed; ${install}`);
    return { address: server.env[ceph.variable], stop: () => server.stop() };
  },
};

const programs = ["ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin"];
const startMsMax = 300_000;

export interface Ceph {
  readonly env: Record<string, string>;
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** Kills the gateway alone and starts it again: what a client sees of a restarted server. */
  restartGateway(whileDown?: () => Promise<void>): Promise<void>;
  /** Kills every daemon, as a power failure would, and starts them again. Only of use with data in a file. */
  restart(whileDown?: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

/** Null where Ceph is not installed. `durable`: data in a file, so that it outlives the daemons. */
export async function startCeph({ durable = false } = {}): Promise<Ceph | null> {
  if (!ceph.isInstalled()) return null;
  const folder = await mkdtemp(join(tmpdir(), "sealdex-ceph-"));
  const [monitorV2, monitorV1, gatewayPort] = await freePorts(3);
  const secrets = { accessKey: randomBytes(10).toString("hex"), secretKey: randomBytes(20).toString("hex") };
  const daemons = new Map<string, ChildProcess>();
  const monitors = `[v2:127.0.0.1:${monitorV2},v1:127.0.0.1:${monitorV1}]`;
  const endpoint = `http://127.0.0.1:${gatewayPort}`;
  const environment = { ...process.env, CEPH_CONF: join(folder, "ceph.conf") };

  async function run(program: string, ...args: string[]): Promise<string> {
    const options = { env: environment, timeout: startMsMax, maxBuffer: 1 << 24 };
    const { stdout } = await promisify(execFile)(program, args, options);
    return stdout.trim();
  }

  async function startDaemon(program: string, ...args: string[]): Promise<void> {
    const log = await open(join(folder, `${program}.out`), "a");
    const daemon = spawn(program, args, { env: environment, stdio: ["ignore", log.fd, log.fd] });
    await log.close();
    daemons.set(program, daemon);
    // Ends it when this process is gone, however it went: then the pipe closes.
    const script = 'read _; kill -9 "$1"';
    const watch = spawn("sh", ["-c", script, "sh", String(daemon.pid)], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    watch.unref();
    daemon.once("exit", () => watch.kill("SIGKILL"));
  }

  async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const started = Date.now();
    while (!(await isSo().catch(() => false))) {
      const ended = [...daemons].find(
        ([, { exitCode, signalCode }]) => exitCode !== null || signalCode !== null,
      );
      if (ended !== undefined || Date.now() - started > startMsMax) {
        const name = ended?.[0] ?? "radosgw";
        const output = await readFile(join(folder, `${name}.out`), "utf8").catch(() => "");
        throw new Error(`ceph: ${what} did not come up; ${name} wrote:\n${output.slice(-2000)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  const answers = () => fetch(endpoint).then((response) => response.status < 500);
  const startMonitor = () => startDaemon("ceph-mon", "-i", "a", "-f");
  const startStore = () => startDaemon("ceph-osd", "-i", "0", "-f");
  const startGateway = async () => {
    await startDaemon("radosgw", "-n", "client.rgw", "-f");
    await until("the gateway", answers);
  };
  const monitorAnswers = async () => (await run("ceph", "--connect-timeout", "5", "-s")) !== "";
  const storeIsUp = async () => (await run("ceph", "osd", "stat")).includes(" 1 up");

  async function kill(...names: string[]): Promise<void> {
    for (const name of names) {
      const daemon = daemons.get(name);
      daemons.delete(name);
      if (daemon === undefined || daemon.exitCode !== null || daemon.signalCode !== null) continue;
      const exit = once(daemon, "exit");
      daemon.kill("SIGKILL");
      await exit;
    }
  }
  const killAll = () => kill("radosgw", "ceph-osd", "ceph-mon");
  const killAtExit = () => {
    for (const daemon of daemons.values()) daemon.kill("SIGKILL");
  };
  process.once("exit", killAtExit);

  async function stop(): Promise<void> {
    await killAll();
    process.off("exit", killAtExit);
    await rm(folder, { recursive: true, force: true });
  }

  try {
    const id = randomUUID();
    const keyring = join(folder, "keyring");
    await Promise.all(["mon", "osd", "log"].map((name) => mkdir(join(folder, name))));
    await writeFile(environment.CEPH_CONF, configuration({ folder, id, monitors, gatewayPort, durable }));
    await run("monmaptool", "--create", "--addv", "a", monitors, "--fsid", id, join(folder, "monmap"));
    const every = ["--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mgr", "allow *"];
    const authorize = (name: string, ...capabilities: string[]) =>
      run("ceph-authtool", keyring, "--gen-key", "-n", name, ...capabilities);
    await run("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "mon.", ...every.slice(0, 3));
    await authorize("client.admin", ...every);
    await authorize("client.rgw", ...every);
    await authorize("osd.0", "--cap", "mon", "allow profile osd", "--cap", "osd", "allow *");
    await run("ceph-mon", "-i", "a", "--mkfs", "--monmap", join(folder, "monmap"), "--keyring", keyring);

    await startMonitor();
    await until("the monitor", monitorAnswers);
    const storeId = randomUUID();
    await run("ceph", "osd", "new", storeId);
    await run("ceph", "auth", "import", "-i", keyring);
    await run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", storeId);
    await startStore();
    await until("the store", storeIsUp);
    await startGateway();
    const user = ["--uid=test", "--display-name=test"];
    const keys = [`--access-key=${secrets.accessKey}`, `--secret-key=${secrets.secretKey}`];
    await run("radosgw-admin", "user", "create", ...user, ...keys, "--max-buckets=0");
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    ...secrets,
    endpoint,
    env: {
      [ceph.variable]: endpoint.replace("//", `//${secrets.accessKey}:${secrets.secretKey}@`),
    },
    async restartGateway(whileDown) {
      await kill("radosgw");
      await whileDown?.();
      await startGateway();
    },
    async restart(whileDown) {
      await killAll();
      await whileDown?.();
      await startMonitor();
      await until("the monitor", monitorAnswers);
      // Else the monitor would take the dead store for the living one until its patience ends, 20 seconds.
      await run("ceph", "osd", "down", "0");
      await startStore();
      await until("the store", storeIsUp);
      await startGateway();
    },
    stop,
  };
}

interface Layout {
  readonly folder: string;
  readonly id: string;
  readonly monitors: string;
  readonly gatewayPort: number;
  readonly durable: boolean;
}

/** One copy of everything, no background work, nothing outside the folder and the loopback device. */
function configuration({ folder, id, monitors, gatewayPort, durable }: Layout): string {
  const store = durable
    ? "osd objectstore = bluestore\nbluestore block create = true\nbluestore block size = 8589934592"
    : "osd objectstore = memstore\nmemstore device bytes = 4294967296";
  return `[global]
fsid = ${id}
mon host = ${monitors}
public network = 127.0.0.0/8
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = ${folder}/keyring
auth allow insecure global id reclaim = true
mon warn on insecure global id reclaim allowed = false
paxos propose interval = 0.05
paxos min wait = 0.01
run dir = ${folder}
admin socket = ${folder}/$cluster-$name.asok
log file = ${folder}/log/$name.log
pid file = ${folder}/$name.pid
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon allow pool delete = true
mon max pg per osd = 1000
osd crush chooseleaf type = 0
mon data avail warn = 1
mon data avail crit = 1
[mon.a]
mon data = ${folder}/mon
mon initial members = a
[osd]
osd data = ${folder}/osd
${store}
osd op num threads per shard = 1
osd op num shards = 2
osd memory target = 939524096
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:${gatewayPort} tcp_nodelay=1
rgw thread pool size = 64
rgw enable usage log = false
rgw enable gc threads = false
rgw enable lc threads = false
rgw dns name = localhost
`;
}

function isInstalled(program: string): boolean {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.some((folder) => existsSync(join(folder, program)));
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
