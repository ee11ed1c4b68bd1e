/** Connections on which nothing was ever asked: Node does not count them as idle, and would wait for them at the end. */

import type { Socket } from "node:net";
import type { Server } from "./http-server.js";

/** Closes them when `app` closes, so that closing waits only for requests in progress. */
export function closeSilentConnections(app: Server): void {
  const silent = new Map<string, Socket>();
  app.server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    silent.set(peer, socket);
    socket.once("close", () => {
      if (silent.get(peer) === socket) silent.delete(peer);
    });
  });
  app.server.on("request", (request) => silent.delete(peerOf(request.socket)));
  app.addHook("preClose", async () => {
    for (const socket of silent.values()) socket.destroy();
  });
}

/** With TLS, the socket of a request is another object than that of its connection; both have the same peer. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
