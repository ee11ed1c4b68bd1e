/** Connections on which nothing was ever asked: Node does not count them as idle, and would wait for them at the end. */

import type { Socket } from "node:net";
import type { Server } from "./http-server.js";

/** Closes them when `app` closes, so that closing waits only for requests in progress. */
export function closeSilentConnections(app: Server): void {
  const silent = new Set<Socket>();
  app.server.on("connection", (socket: Socket) => {
    silent.add(socket);
    socket.once("close", () => silent.delete(socket));
  });
  app.server.on("request", (request) => silent.delete(request.socket));
  app.addHook("preClose", async () => {
    for (const socket of silent) socket.destroy();
  });
}
