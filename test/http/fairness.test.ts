/** The share of one client of a service: others are served next to it. */

import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { Semaphore } from "../../packages/server/src/http/semaphore.js";
import { networkOf } from "../../packages/server/src/http/request-address.js";
import { type ServiceProcess, startProcess } from "./service-process.js";

let service: ServiceProcess | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await service?.kill();
});

const keyA = generateKey();
const keyB = generateKey();

async function start(environment: Record<string, string>): Promise<ServiceProcess> {
  const settings = { SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_API_KEYS: `${keyA},${keyB}` };
  service = await startProcess({ ...settings, ...environment });
  return service;
}

/** Sends bytes on a connection of its own, from another address of this machine if `localAddress` says so. */
async function open({ baseUrl }: ServiceProcess, text: string, localAddress = "127.0.0.1"): Promise<Socket> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on("error", () => undefined);
  sockets.push(socket);
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

/** The status of an answer to a request from `localAddress`. */
async function statusOf(url: string, localAddress: string): Promise<number | undefined> {
  const [response] = await once(request(url, { localAddress, agent: false }).end(), "response");
  response.resume();
  return response.statusCode;
}

test("requests of one key that are never sent whole leave places for other keys", async () => {
  const { baseUrl } = await start({ SEALDEX_REQUESTS_MAX: "4", SEALDEX_WAITING_MAX: "6" });
  const head = `POST /v1/vectors/query HTTP/1.1\r\nHost: x\r\nX-API-Key: ${keyA}\r\nContent-Type: application/json\r\n`;
  const held: Socket[] = [];
  for (let i = 0; i < 10; i++) {
    held.push(await open(service as ServiceProcess, `${head}Content-Length: 100\r\n\r\n{`));
  }
  // Two are worked on, six wait, and those beyond are refused.
  await Promise.race(held.map((socket) => once(socket, "data")));
  for (let i = 0; i < 5; i++) {
    const response = await fetch(`${baseUrl}/v1/indexes/list`, { headers: { "X-API-Key": keyB } });
    expect(response.status).toBe(200);
  }
});

test("connections of one address make room for another's", async () => {
  const running = await start({ SEALDEX_CONNECTIONS_MAX: "10" });
  const { baseUrl } = running;
  const hello = "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n";
  const held = await Promise.all(Array.from({ length: 10 }, () => open(running, hello)));
  await Promise.all(held.map((socket) => once(socket, "data")));
  const closed = Promise.race(held.map((socket) => once(socket, "close")));
  for (let i = 0; i < 5; i++) expect(await statusOf(`${baseUrl}/v1/health`, "127.0.0.9")).toBe(200);
  await closed;
  // One more of the address that has most is closed itself.
  await Promise.all([1, 2, 3, 4, 5].map(() => open(running, hello)));
  expect(await statusOf(`${baseUrl}/v1/health`, "127.0.0.9")).toBe(200);
});

test("a limit per address holds for every path", async () => {
  const { baseUrl } = await start({ SEALDEX_ADDRESS_REQUESTS_PER_MINUTE_MAX: "12" });
  const paths = [
    "/",
    "/docs/",
    "/docs/json",
    "/docs/static/index.html",
    "/v1/openapi.json",
    "/v1/health",
    "/v1/health/ready",
    "/metrics",
    "/admin/",
    "/nothing",
    "/v1/indexes/list",
    "/%00",
  ];
  const statuses = async (localAddress: string) => {
    const found: (number | undefined)[] = [];
    for (const path of paths) found.push(await statusOf(baseUrl + path, localAddress));
    return found;
  };
  expect(await statuses("127.0.0.1")).not.toContain(429);
  expect(await statuses("127.0.0.1")).toEqual(paths.map(() => 429));
  expect(await statuses("127.0.0.9")).not.toContain(429);
});

test.each([
  ["10.1.2.3", "10.1.2.3"],
  ["::ffff:10.1.2.3", "10.1.2.3"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0db8:0001:0002::", "2001:db8:1:2::/64"],
  ["2001:db8::6", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["unknown", "unknown"],
])("limits per address count %s as %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

describe("a semaphore", () => {
  const never = new AbortController().signal;

  test("keeps some for whoever comes next, and admits those who have least first", async () => {
    const semaphore = new Semaphore(8, Infinity);
    const take = (owner: string) => semaphore.tryAcquire(owner, 1);
    const ofA = [take("a"), take("a"), take("a"), take("a")];
    expect(ofA).not.toContain(undefined);
    expect(take("a")).toBeUndefined();
    const order: string[] = [];
    const wait = (owner: string) => semaphore.acquire(owner, 1, never).then(() => order.push(owner));
    void wait("a");
    // One that waits for its own share delays no other client.
    await wait("b");
    await wait("c");
    expect(order).toEqual(["b", "c"]);
    void wait("d");
    void wait("d");
    await new Promise(setImmediate);
    for (const leave of ofA) leave?.();
    await new Promise(setImmediate);
    expect(order.slice(2)).toEqual(["d", "d", "a"]);
  });

  test("a request for all of it is admitted next to a stream of smaller ones", async () => {
    const semaphore = new Semaphore(4, Infinity);
    const leave = semaphore.tryAcquire("a", 1);
    const whole = semaphore.acquire("b", 4, never);
    const late = semaphore.acquire("c", 1, never);
    leave?.();
    (await whole)();
    (await late)();
  });

  test("refuses the owner of whom most wait", async () => {
    const semaphore = new Semaphore(1, 3);
    semaphore.tryAcquire("x", 1);
    const results: string[] = [];
    const wait = (owner: string) =>
      semaphore.acquire(owner, 1, never).catch(() => results.push(`${owner} refused`));
    for (const owner of ["a", "a", "a", "b", "c", "a"]) void wait(owner);
    await new Promise(setImmediate);
    expect(results).toEqual(["a refused", "a refused", "a refused"]);
  });
});
