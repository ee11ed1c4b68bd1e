// The service as its users run it, and a connection to it that costs next to nothing: its client must not count.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { generateKey } from "sealdex/core";

const program = fileURLToPath(new URL("../../packages/server/bin/sealdex-server.js", import.meta.url));

/** `environment`: further settings. */
export async function startService(location, processes, environment = {}) {
  const apiKey = generateKey();
  const child = spawn(process.execPath, [program, "serve"], {
    env: {
      PATH: process.env.PATH,
      SEALDEX_PORT: "0",
      SEALDEX_PROCESSES: `${processes}`,
      SEALDEX_INDEX_LOCATION: location,
      SEALDEX_ROOT_KEY: apiKey,
      SEALDEX_AUTOMATIC_TRAINING: "off",
      ...environment,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  const listening = /listening at (http:\/\/[\d.:]+)/g;
  await new Promise((resolve) => {
    child.stdout.on("data", (chunk) => {
      // The log of requests is read, and dropped.
      if ((output.match(listening)?.length ?? 0) >= processes) return;
      output += chunk;
      if ((output.match(listening)?.length ?? 0) >= processes) resolve();
    });
  });
  const baseUrl = [...output.matchAll(listening)][0][1];
  const { hostname, port } = new URL(baseUrl);
  return {
    baseUrl,
    apiKey,
    pid: child.pid,
    connect: async () => {
      const socket = connect(Number(port), hostname).setNoDelay();
      await once(socket, "connect");
      return { post: (path, body) => post(socket, apiKey, path, body), close: () => socket.destroy() };
    },
    stop: async () => {
      child.kill();
      await once(child, "exit");
    },
  };
}

/** Resolves when the last byte of the answer is here. */
function post(socket, apiKey, path, body) {
  return new Promise((resolve, reject) => {
    let received = "";
    const read = (chunk) => {
      received += chunk.toString("latin1");
      const head = received.indexOf("\r\n\r\n");
      if (head < 0) return;
      const [, length] = /content-length: (\d+)/i.exec(received) ?? [];
      if (received.length < head + 4 + Number(length)) return;
      socket.off("data", read);
      if (received.startsWith("HTTP/1.1 200")) resolve();
      else reject(new Error(received));
    };
    socket.on("data", read);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${apiKey}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
}
