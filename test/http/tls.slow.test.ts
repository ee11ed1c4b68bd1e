/** TLS by certificate files: connections, client certificates, files that cannot be used. Needs openssl. */

import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { expiryOf, readCertificates } from "../../packages/server/src/http/certificates.js";
import { makeAuthority, makeCertificate } from "../servers/certificate.js";
import { type RunningService, startService } from "./service.js";

const made = mkdtempSync(join(tmpdir(), "sealdex-certificates-"));
const names = ["one", "client"];
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
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sealdex-tls-"));
  install("one");
});
afterEach(async () => {
  await service?.close();
  service = undefined;
  rmSync(folder, { recursive: true });
});

const files = { certificate: "", key: "" };
function install(name: string): void {
  files.certificate = join(folder, "tls.crt");
  files.key = join(folder, "tls.key");
  copyFileSync(join(made, `${name}.crt`), files.certificate);
  copyFileSync(join(made, `${name}.key`), files.key);
}

async function start(clientAuthorities?: string): Promise<number> {
  const certificates = readCertificates({ ...files, ...(clientAuthorities && { clientAuthorities }) });
  service = await startService({ certificates });
  expect(service.baseUrl).toMatch(/^https:/);
  return Number(new URL(service.baseUrl).port);
}

async function connected(port: number, client?: { readonly cert: string; readonly key: string }) {
  const socket = connect({ port, host: "127.0.0.1", ca: text("ca.crt"), ...client });
  await once(socket, "secureConnect");
  return socket;
}

async function health(port: number, socket?: TLSSocket): Promise<number | undefined> {
  const options = { port, host: "127.0.0.1", path: "/v1/health", ca: text("ca.crt") };
  const sent = request({ ...options, ...(socket && { createConnection: () => socket }) });
  sent.end();
  const [response] = await once(sent, "response");
  response.resume();
  await once(response, "end");
  return response.statusCode;
}

test("the service stops without waiting for connections that never asked anything", async () => {
  const port = await start();
  const silent = connectPlain({ port, host: "127.0.0.1" });
  await once(silent, "connect");
  const socket = await connected(port);
  const gone = [silent, socket].map((each) => once(each.resume(), "close"));
  await service?.close();
  service = undefined;
  await Promise.all(gone);
});

test("connections without TLS are refused, and the service still works", async () => {
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
  const socket = await connected(port, client("client"));
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
  expect(() => readCertificates({ ...files, key: join(folder, "absent") })).toThrow(
    /cannot be read \(ENOENT\)$/,
  );
  writeFileSync(files.key, "saffron");
  expect(() => readCertificates(files)).toThrow(/^TLS: the certificate and the key are not a valid pair/);
  expect(() => readCertificates(files)).not.toThrow(/saffron/);
  install("one");
  expect(expiryOf(readCertificates(files))).toBeGreaterThan(1.7e9);
});
