/** Connections that their clients reset before the service has read a request. Needs a build, and openssl. */

import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { generateKey } from "../../src/core.js";
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
