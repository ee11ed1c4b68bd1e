/** The cases of the outage suite, one kind of outage each. */

import { ok, strictEqual } from "node:assert";
import type { BlobStore } from "./blob-store.js";
import { expectBytes, sample } from "./conformance-cases.js";

/** A server that these cases may break. It must keep stored data. */
export interface OutageServer {
  /** Stops it gracefully. */
  down(): Promise<void>;
  /** Stops it like a crash. */
  kill(): Promise<void>;
  /** Starts it again; resolves when it answers. */
  up(): Promise<void>;
  /** Suspends it with its connections open. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

type OutageCase = (open: () => Promise<BlobStore>, server: OutageServer) => Promise<void>;

const settleMsMax = 60_000;
/** One byte more than the longest blob of these cases. */
const whole = { offset: 0, length: 5001 };

export const outageCases: Record<string, OutageCase> = {
  async "rejects while its server is down, and recovers by itself when it is back"(open, server) {
    await survives(
      open,
      () => server.down(),
      () => server.up(),
    );
  },

  async "rejects in time while its server does not answer, and recovers by itself when it does"(
    open,
    server,
  ) {
    await survives(
      open,
      () => server.pause(),
      () => server.resume(),
    );
  },

  async "loses nothing that it acknowledged when its server is killed in the middle of creates"(
    open,
    server,
  ) {
    const store = await open();
    const acknowledged = new Set<string>();
    let rejections = 0;
    const killed = { at: 40, done: false };
    async function write(writer: number): Promise<void> {
      for (let i = 0; !killed.done || i % 20 !== 0; i++) {
        const key = `writer/${writer}/${i}`;
        try {
          if (await soon(store.create(key, sample(5000, i)))) acknowledged.add(key);
        } catch {
          rejections++;
          await pauseFor(50);
        }
      }
    }
    const writers = Promise.all(Array.from({ length: 4 }, (_, writer) => write(writer)));
    while (acknowledged.size < killed.at) await pauseFor(5);
    await server.kill();
    await server.up();
    await recovered(store);
    killed.done = true;
    await writers;

    ok(rejections > 0, "the kill hit nothing");
    const keys = await (await open()).list("writer/");
    for (const key of keys) {
      expectBytes(await store.read(key, whole), sample(5000, Number(key.split("/")[2])), key);
    }
    const lost = [...acknowledged].filter((key) => !keys.includes(key));
    strictEqual(lost.length, 0, `lost after they were acknowledged: ${lost.slice(0, 5).join(", ")}`);
  },
};

async function survives(
  open: () => Promise<BlobStore>,
  interrupt: () => Promise<void>,
  restore: () => Promise<void>,
): Promise<void> {
  const store = await open();
  await store.create("before/a", sample(1000));
  await store.create("before/b", sample(10));
  await interrupt();
  try {
    const calls: Record<string, () => Promise<unknown>> = {
      read: () => store.read("before/a", whole),
      "range read": () => store.read("before/a", { offset: 1, length: 10 }),
      create: () => store.create("during/a", sample(100)),
      list: () => store.list("before/"),
      delete: () => store.delete(["before/b"]),
    };
    await Promise.all(
      Object.entries(calls).map(async ([name, call]) => {
        const outcome = await soon(call()).then(
          () => "resolved",
          () => "rejected",
        );
        strictEqual(outcome, "rejected", `${name} without a server`);
      }),
    );
  } finally {
    await restore();
  }
  await recovered(store);
  expectBytes(await store.read("before/a", whole), sample(1000));
  // A rejected create may have happened, but only completely.
  const during = await store.read("during/a", whole);
  if (during !== null) expectBytes(during, sample(100));
  const before = await store.list("before/");
  strictEqual(before[0], "before/a");
  strictEqual(await store.create("after/a", sample(7)), true);
  expectBytes(await (await open()).read("after/a", whole), sample(7));
}

/** Calls until one succeeds: a driver must reconnect without help. */
async function recovered(store: BlobStore): Promise<void> {
  const giveUp = Date.now() + settleMsMax;
  for (;;) {
    try {
      await soon(store.read("recovered", whole));
      return;
    } catch (error) {
      if (Date.now() > giveUp) throw error;
      await pauseFor(50);
    }
  }
}

/** Fails a call that does not settle. */
async function soon<T>(call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`a call did not settle in ${settleMsMax} ms`)), settleMsMax);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

function pauseFor(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
