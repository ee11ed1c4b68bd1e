/** Two service processes on one server: changes that each sees of the other, a crash under load, storage that fails. Needs a build. */

import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { postgres, startPostgres } from "../servers/postgres.js";
import { redis, startRedis } from "../servers/redis.js";
import type { RestartableServer } from "../servers/test-server.js";
import { newFolder } from "../folder.js";
import { canStart } from "../tier.js";
import { type ServiceProcess, startProcess } from "./service-process.js";

const rootKey = generateKey();
/** A crash and a restart are waited out, however slow the machine is. */
const maxRetries = 100;
/** A server that is slow, since the machine is, is no outage; one that is gone refuses connections. */
const patience = { SEALDEX_STORAGE_TIMEOUT_MS: "20000" };
/** For a process whose calls may fail, and are repeated until they succeed. */
const impatience = { SEALDEX_STORAGE_TIMEOUT_MS: "1500" };

describe.each([
  ["Redis", redis, () => startRedis()],
  ["PostgreSQL", postgres, () => startPostgres()],
])("on one %s", (_, kind, startServer) => {
  describe.runIf(canStart(kind))("two processes", () => {
    let server: RestartableServer;
    const services: ServiceProcess[] = [];
    const start = async (settings: Record<string, string> = patience, port?: number) => {
      const common = { SEALDEX_INDEX_LOCATION: server.address, SEALDEX_ROOT_KEY: rootKey };
      const service = await startProcess({ ...common, ...settings }, port);
      services.push(service);
      return service;
    };
    const connect = ({ baseUrl }: ServiceProcess) => createClient({ baseUrl, apiKey: rootKey, maxRetries });

    beforeAll(async () => {
      server = await startServer();
    });
    afterEach(async () => {
      await Promise.all(services.splice(0).map((service) => service.kill()));
    });
    afterAll(() => server.stop());

    test("see each other's writes with the next request", async () => {
      const [a, b] = (await Promise.all([start(), start()])).map(connect);
      const address = { indexName: "seen", indexKey: generateKey() };
      const indexes = [await a.createIndex(address), await b.loadIndex(address)];
      for (let round = 0; round < 30; round++) {
        const [writer, reader] = round % 2 === 0 ? indexes : indexes.toReversed();
        const id = `${round}`;
        await writer.upsert([{ id, vector: [round, 1], metadata: { round } }]);
        expect(await reader.query({ queryVector: [round, 1], topK: 1 })).toEqual([{ id, distance: 0 }]);
        await reader.update({ ids: [id] }, { metadata: { round: -round } });
        expect(await writer.count({ filter: { round: -round } })).toBe(1);
        if (round % 3 === 0) {
          await reader.delete({ ids: [id] });
          expect(await writer.get([id])).toEqual([]);
        }
      }
      expect(await indexes[0].listIds()).toEqual(await indexes[1].listIds());
      await a.deleteIndex(address);
      await expect(indexes[1].count()).rejects.toMatchObject({ code: "not_found" });
    });

    test("lose nothing that was acknowledged when one is killed under load, and no call fails", async () => {
      const both = await Promise.all([start(), start()]);
      const [a, b] = both.map(connect);
      const address = { indexName: "killed", indexKey: generateKey() };
      await a.createIndex(address);
      const acknowledged = new Set<string>();
      const counts = [0, 0];
      const goals = [Infinity, Infinity];
      const load = [a, b].flatMap((client, c) =>
        Array.from({ length: 3 }, async (__, writer) => {
          const index = await client.loadIndex(address);
          for (let i = 0; counts[c] < goals[c]; i++) {
            const id = `${c}/${writer}/${i}`;
            await index.upsert([{ id, vector: [c, writer, i] }]);
            acknowledged.add(id);
            counts[c]++;
            const [found] = await index.query({ queryVector: [c, writer, i], topK: 1 });
            expect(found).toEqual({ id, distance: 0 });
            if (i % 5 === 4) {
              await index.delete({ ids: [id] });
              acknowledged.delete(id);
            }
          }
        }),
      );
      const all = Promise.all(load);
      await vi.waitFor(() => expect(Math.min(...counts)).toBeGreaterThan(20), { timeout: 300_000 });
      await both[0].kill();
      await start(patience, Number(new URL(both[0].baseUrl).port));
      for (const c of [0, 1]) goals[c] = counts[c] + 20;
      await all;
      const kept = await (await b.loadIndex(address)).listIds();
      expect(kept.toSorted()).toEqual([...acknowledged].toSorted());
    });

    test("answer 503 with Retry-After while the storage is gone, and recover by themselves", async () => {
      const both = await Promise.all([start(impatience), start()]);
      const [client, patient] = both.map(connect);
      const address = { indexName: "gone", indexKey: generateKey() };
      await patient.createIndex(address);
      const index = await client.loadIndex(address);
      await index.upsert([{ id: "before", vector: [1, 2] }]);
      const [{ baseUrl }] = both;
      const statusOf = async (path: string) => (await fetch(`${baseUrl}/v1/health${path}`)).status;
      await vi.waitFor(async () => expect(await statusOf("/ready")).toBe(200), { timeout: 300_000 });

      await server.down();
      const headers = { "Content-Type": "application/json", "X-API-Key": rootKey };
      const body = JSON.stringify({
        index_name: address.indexName,
        index_key: address.indexKey,
        items: [{ id: "during", vector: [3, 4] }],
      });
      const refused = await fetch(`${baseUrl}/v1/vectors/upsert`, { method: "POST", headers, body });
      expect([refused.status, refused.headers.get("Retry-After")]).toEqual([503, "1"]);
      expect(await refused.json()).toEqual({ status_code: 503, detail: expect.stringContaining("storage") });
      await vi.waitFor(async () => expect(await statusOf("/ready")).toBe(503), { timeout: 300_000 });
      expect(await statusOf("/live")).toBe(200);
      const waiting = [
        index.upsert([{ id: "waiting", vector: [5, 6] }]),
        index.query({ queryVector: [1, 2] }),
      ];

      await server.up();
      await vi.waitFor(async () => expect(await statusOf("/ready")).toBe(200), { timeout: 300_000 });
      const [, matches] = await Promise.all(waiting);
      expect(matches).toContainEqual({ id: "before", distance: 0 });
      const ids = await (await patient.loadIndex(address)).listIds();
      // Items answered with 503 may have been stored, in whole.
      expect(ids.filter((id) => id !== "during")).toEqual(["before", "waiting"]);
      expect(both.map(({ child }) => child.exitCode)).toEqual([null, null]);
    });

    test("end at SIGTERM while the storage is gone, and say by their exit code that they could not write all", async () => {
      const service = await start({ ...impatience, SEALDEX_AUDIT_FOLDER: await newFolder() });
      await connect(service).listIndexes();
      await server.down();
      const exit = once(service.child, "exit");
      service.child.kill("SIGTERM");
      expect(await exit).toEqual([1, null]);
      await server.up();
    });
  });
});
