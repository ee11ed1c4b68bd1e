/** The log that the service writes to standard output: complete, and never awaited by the service. Needs a build. */

import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { type ServiceProcess, startProcess } from "./service-process.js";
import { newFolder } from "../folder.js";

let folder: string;
let service: ServiceProcess | undefined;
beforeEach(async () => {
  folder = await newFolder();
});
afterEach(async () => {
  await service?.kill();
  service = undefined;
});

async function startWithLog(environment: Record<string, string> = {}) {
  service = await startProcess({
    SEALDEX_INDEX_LOCATION: `file:${folder}`,
    SEALDEX_ROOT_KEY: generateKey(),
    ...environment,
  });
  const log = service.child.stdout as Readable;
  log.removeAllListeners("data");
  return { ...service, log };
}

async function ask({ baseUrl }: ServiceProcess, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) {
    const response = await fetch(`${baseUrl}/v1/health/live`);
    await response.arrayBuffer();
    statuses.push(response.status);
  }
  return statuses;
}

test.each(["1", "2"])("with %s processes, no line is lost when the service is stopped", async (processes) => {
  const started = await startWithLog({ SEALDEX_PROCESSES: processes });
  const written = text(started.log);
  await ask(started, 100);
  started.child.kill("SIGTERM");
  const lines = (await written).split("\n").filter((line) => line !== "");
  expect(lines.map((line) => JSON.parse(line).msg).filter((msg) => msg === "request")).toHaveLength(100);
});

test("a service whose log is not read answers, and ends", async () => {
  const started = await startWithLog();
  started.log.pause();
  // Beyond the buffers of the pipe and its reader.
  const statuses = await ask(started, 3000);
  expect(new Set(statuses)).toEqual(new Set([200]));
  const ended = once(started.child, "exit");
  started.child.kill("SIGTERM");
  started.log.resume();
  expect(await ended).toEqual([0, null]);
});
