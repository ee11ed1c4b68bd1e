/** Connections with several requests, and those that their clients reset before one was read. Needs a build, and openssl. */

import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { uniform } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { newFolder } from "../folder.js";
import { makeAuthority, makeCertificate } from "../servers/certificate.js";
import { startProcess } from "./service-process.js";

test.each(["HTTP", "HTTPS"])(
  "over %s, a request whose connection was reset is not served",
  async (protocol) => {
    const folder = await newFolder();
    makeAuthority(folder);
    makeCertificate(folder, "one");
    const isTls = protocol === "HTTPS";
    const { child, baseUrl, kill } = await startProcess({
      SEALDEX_INDEX_LOCATION: "memory:",
      SEALDEX_ROOT_KEY: generateKey(),
      SEALDEX_AUDIT_FOLDER: join(folder, "audit"),
      ...(isTls && {
        SEALDEX_TLS_CERT_FILE: join(folder, "one.crt"),
        SEALDEX_TLS_KEY_FILE: join(folder, "one.key"),
      }),
    });
    onTestFinished(kill);
    const open = async () => {
      const raw = connect(Number(new URL(baseUrl).port), "127.0.0.1");
      const socket = isTls ? connectTls({ socket: raw, rejectUnauthorized: false }) : raw;
      raw.on("error", () => undefined);
      socket.on("error", () => undefined);
      await once(socket, isTls ? "secureConnect" : "connect");
      return { raw, socket };
    };
    const ask = "GET /v1/indexes/list HTTP/1.1\r\nHost: x\r\nX-API-Key: none\r\n\r\n";
    for (let i = 0; i < 5; i++) {
      // HTTP is accepted and HTTPS reads the request when the connection was reset already.
      if (!isTls) child.kill("SIGSTOP");
      const { raw, socket } = await open();
      if (isTls) child.kill("SIGSTOP");
      await new Promise((resolve) => socket.write(ask, resolve));
      raw.resetAndDestroy();
      child.kill("SIGCONT");
      const { socket: next } = await open();
      next.write("GET /v1/health/live HTTP/1.1\r\nHost: x\r\n\r\n");
      const [answer] = (await once(next, "data")) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
      next.destroy();
    }
  },
);

test("a request that follows another may take longer than a client may stop reading", async () => {
  const apiKey = generateKey();
  const { baseUrl, kill } = await startProcess({
    SEALDEX_INDEX_LOCATION: "memory:",
    SEALDEX_API_KEYS: apiKey,
    SEALDEX_STALLED_MS_MAX: "100",
  });
  onTestFinished(kill);
  const client = createClient({ baseUrl, apiKey });
  const index_key = generateKey();
  const index = await client.createIndex({
    indexName: "a",
    indexKey: index_key,
    indexConfig: { type: "ivfflat", dimension: 128 },
  });
  const vectors = rowsOf(uniform(12_000, 128, 1), 128);
  await index.upsert(vectors.map((vector, i) => ({ id: String(i), vector })));
  const body = JSON.stringify({ index_name: "a", index_key, n_lists: 256 });
  const head = `Host: x\r\nX-API-Key: ${apiKey}\r\n`;
  const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
  socket.on("error", () => undefined);
  let answers = "";
  socket.on("data", (data: Buffer) => (answers += data.toString()));
  socket.write(
    `GET /v1/health/live HTTP/1.1\r\n${head}\r\n` +
      `POST /v1/indexes/train HTTP/1.1\r\n${head}Connection: close\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await once(socket, "close");
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
  await client.close();
});
