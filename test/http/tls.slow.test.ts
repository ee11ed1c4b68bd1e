/** TLS by certificate files: renewed without a restart and without dropping a connection; client certificates. Needs openssl. */

import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { Certificates } from "../../server/src/certificates.js";
import { makeAuthority, makeCertificate } from "../servers/certificate.js";
import { type RunningService, startService } from "./service.js";

const made = mkdtempSync(join(tmpdir(), "sealdex-certificates-"));
const names = ["one", "two", "client"];
beforeAll(() => {
  makeAuthority(made);
  for (const name of names) makeCertificate(made, name);
  makeAuthority(made, "other");
  makeCertificate(made, "stranger", "other");
});
afterAll(() => rmSync(made, { recursive: true }));

const text = (name: string) => readFileSync(join(made, name), "utf8");
let folder: string;
let service: RunningService | undefined;
let logged: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sealdex-tls-"));
  logged = [];
  install("one");
  // The service looks for renewed files from time to time: the tests say when.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(async () => {
  await service?.close();
  service = undefined;
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

const files = { certificate: "", key: "" };
function install(name: string): void {
  files.certificate = join(folder, "tls.crt");
  files.key = join(folder, "tls.key");
  copyFileSync(join(made, `${name}.crt`), files.certificate);
  copyFileSync(join(made, `${name}.key`), files.key);
}

const look = () => vi.advanceTimersByTime(10_000);

async function start(clientAuthorities?: string): Promise<number> {
  const certificates = new Certificates({ ...files, ...(clientAuthorities && { clientAuthorities }) });
  service = await startService({ certificates, log: { write: (line) => void logged.push(line) } });
  expect(service.baseUrl).toMatch(/^https:/);
  return Number(new URL(service.baseUrl).port);
}

/** The serial number of the certificate that a new connection is shown. */
async function serialOf(port: number, client?: { readonly cert: string; readonly key: string }) {
  const socket = connect({ port, host: "127.0.0.1", ca: text("ca.crt"), ...client });
  await once(socket, "secureConnect");
  const { serialNumber } = socket.getPeerCertificate();
  return { socket, serialNumber };
}

async function health(port: number, socket?: TLSSocket, agent?: Agent): Promise<number | undefined> {
  const options = { port, host: "127.0.0.1", path: "/v1/health", ca: text("ca.crt") };
  const sent = request({
    ...options,
    ...(socket && { createConnection: () => socket }),
    ...(agent && { agent }),
  });
  sent.end();
  const [response] = await once(sent, "response");
  response.resume();
  await once(response, "end");
  return response.statusCode;
}

test("a renewed certificate is shown to new connections, and open ones go on", async () => {
  const port = await start();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  expect(await health(port, undefined, agent)).toBe(200);
  const [kept] = Object.values(agent.freeSockets).flat();
  const before = await serialOf(port);

  install("two");
  look();
  expect(logged.join("")).toContain("new connections use the renewed certificate");
  const after = await serialOf(port);
  expect(after.serialNumber).not.toBe(before.serialNumber);
  expect(await health(port, undefined, agent)).toBe(200);
  expect(Object.values(agent.freeSockets).flat()).toEqual([kept]);

  for (const { socket } of [before, after]) socket.destroy();
  agent.destroy();
  logged = [];
  look();
  expect(logged).toEqual([]);
});

test("files that do not belong together change nothing until they do", async () => {
  const port = await start();
  const before = await serialOf(port);
  copyFileSync(join(made, "two.crt"), files.certificate);
  look();
  look();
  expect(logged.filter((line) => line.includes("keeps the certificate"))).toHaveLength(1);
  const during = await serialOf(port);
  expect(during.serialNumber).toBe(before.serialNumber);
  copyFileSync(join(made, "two.key"), files.key);
  look();
  const after = await serialOf(port);
  expect(after.serialNumber).not.toBe(before.serialNumber);
  rmSync(files.key);
  look();
  expect(logged.at(-1)).toMatch(/tls.key: the file cannot be read \(ENOENT\); the service keeps/);
  expect(await health(port)).toBe(200);
  for (const { socket } of [before, during, after]) socket.destroy();
});

test("the service stops without waiting for connections that never asked anything", async () => {
  const port = await start();
  const silent = connectPlain({ port, host: "127.0.0.1" });
  await once(silent, "connect");
  const { socket } = await serialOf(port);
  const gone = [silent, socket].map((each) => once(each.resume(), "close"));
  await service?.close();
  service = undefined;
  await Promise.all(gone);
});

test("what is no TLS is refused, and the service goes on", async () => {
  const port = await start();
  const plain = connectPlain({ port, host: "127.0.0.1" });
  plain.write("GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n");
  plain.on("error", () => undefined);
  await once(plain.resume(), "close");
  expect(await health(port)).toBe(200);
});

test("with client authorities, only clients that have a certificate of theirs are served", async () => {
  const authorities = join(made, "ca.crt");
  const port = await start(authorities);
  const client = (name: string) => ({ cert: text(`${name}.crt`), key: text(`${name}.key`) });
  const { socket } = await serialOf(port, client("client"));
  expect(await health(port, socket)).toBe(200);
  for (const refused of [undefined, client("stranger")]) {
    const other = connect({ port, host: "127.0.0.1", ca: text("ca.crt"), ...refused });
    const closed = new Promise((resolve) => other.once("close", resolve));
    let answer = "";
    other.on("error", () => undefined).on("data", (chunk) => (answer += String(chunk)));
    other.write("GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n");
    await closed;
    expect(answer).toBe("");
  }
});

test("files that cannot be used are refused at the start, without their contents", () => {
  expect(() => new Certificates({ ...files, key: join(folder, "absent") })).toThrow(
    /cannot be read \(ENOENT\)$/,
  );
  writeFileSync(files.key, "saffron");
  expect(() => new Certificates(files)).toThrow(/^TLS: the certificate and the key are not a valid pair/);
  expect(() => new Certificates(files)).not.toThrow(/saffron/);
  install("one");
  expect(new Certificates(files).expiresAt()).toBeGreaterThan(1.7e9);
});
