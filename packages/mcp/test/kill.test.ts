/** A server that is killed during its first comparison of a folder. */

import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  call,
  connectHttp,
  documentsOf,
  inStep,
  kill,
  startHttp,
  statusOf,
  until,
  Workspace,
} from "./start-server.js";

const notes = 1200;
/** Moments of a comparison, evenly spread, at which a server is killed. */
const points = Number(process.env.SEALDEX_KILLS ?? 5);

const workspace = new Workspace();
let durationMs = 0;

const argsOf = (round: number) => [
  `--key-file=${workspace.keyFile}`,
  `--location=${workspace.location}-${round}`,
  `--folder=${workspace.notes}`,
  "--source=own",
];

beforeAll(async () => {
  for (let i = 0; i < notes; i++)
    workspace.write(`${i % 10}/${i}.md`, `# Note ${i}\n\nAbout the number ${i}.`);
  const server = await startHttp(argsOf(-1));
  const client = await connectHttp(server.url);
  const started = performance.now();
  await until(client, inStep(notes));
  durationMs = performance.now() - started;
  await client.close();
  await kill(server, "SIGTERM");
});
afterAll(() => workspace.remove());

/** The number of documents that clients saw, until the server is killed. */
async function watch(client: Client): Promise<number> {
  let seen = 0;
  try {
    for (;;) seen = Math.max(seen, (await statusOf(client)).documents);
  } catch {
    return seen;
  }
}

test.each(Array.from({ length: points }, (_, i) => i))(
  "killed at point %i, it loses nothing that was acknowledged, and the next run completes the rest",
  async (point) => {
    const server = await startHttp(argsOf(point));
    const client = await connectHttp(server.url);
    const remembered = await call(client, "remember", { text: "Remembered before the end." });
    expect(remembered.isError).toBe(false);
    const seen = watch(client);
    await new Promise((resolve) => setTimeout(resolve, ((point + 0.5) / points) * durationMs));
    await kill(server, "SIGKILL");
    await client.close();

    const next = await startHttp(argsOf(point));
    const again = await connectHttp(next.url);
    expect((await statusOf(again)).documents).toBeGreaterThanOrEqual(await seen);
    const { passages } = await until(again, inStep(notes + 1));
    expect(passages).toBe(notes + 1);
    const names = await documentsOf(again);
    expect(new Set(names).size).toBe(notes + 1);
    expect((await call(again, "search", { query: "remembered before" })).text).toContain("Remembered before");
    await again.close();
    await kill(next, "SIGTERM");
  },
);
