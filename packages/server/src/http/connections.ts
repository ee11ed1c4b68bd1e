/**
 * Limits the connections of the service: a further one closes one of the address with the most, so
 * that no address keeps others out. Requests of one connection are served one after the other.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Server } from "./http-server.js";
import type { Limits } from "./limits.js";
import { networkOf } from "./request-address.js";

interface Connection {
  readonly peer: string;
  readonly socket: Socket;
  readonly network: string;
  /** Of requests under way; several if the client sends further ones before the first is answered. */
  readonly responses: Set<ServerResponse>;
  isUnused: boolean;
}

export function limitConnections(app: Server, { connectionsMax, requestMsMax }: Limits): void {
  /**
   * Oldest first. By peer, since with TLS the socket of a request is another object than that of
   * its connection.
   */
  const connections = new Map<string, Connection>();
  /** Of the last request, while it is under way. By socket: TLS emits requests of connections that are closed, too. */
  const newest = new WeakMap<Socket, ServerResponse>();
  let isStopping = false;

  const closeOne = (last: Connection) => {
    const counts = new Map<string, number>();
    for (const { network } of connections.values()) counts.set(network, (counts.get(network) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const others = [...connections].filter(([, { network }]) => counts.get(network) === most);
    const isOfMost = counts.get(last.network) === most;
    const closed = isOfMost ? last : (others.find(([, each]) => each.responses.size === 0) ?? others[0])[1];
    closed.socket.destroy();
    connections.delete(closed.peer);
  };

  app.server.on("connection", (socket: Socket) => {
    const [peer, network] = [peerOf(socket), networkOf(socket.remoteAddress ?? "")];
    const connection = { peer, socket, network, responses: new Set<ServerResponse>(), isUnused: true };
    connections.set(peer, connection);
    socket.once("close", () => {
      if (connections.get(peer) === connection) connections.delete(peer);
    });
    if (connections.size > connectionsMax) closeOne(connection);
  });
  app.server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(peerOf(socket));
    newest.set(socket, response);
    if (connection !== undefined) {
      connection.isUnused = false;
      connection.responses.add(response);
    }
    response.once("close", () => {
      if (newest.get(socket) === response) newest.delete(socket);
      connection?.responses.delete(response);
      if (isStopping && connection?.responses.size === 0) socket.destroySoon();
    });
  });
  app.addHook("onRequest", ({ socket }, _reply, done) => {
    const serve = () => {
      // If the connection is closed, limits and the audit log do not know whose request it is, and nothing would end it.
      if (socket.destroyed || socket.remoteAddress === undefined) socket.destroy();
      else done();
    };
    // Until its response can be sent, it would hold places that the request before it may wait for.
    const before = newest.get(socket);
    if (before === undefined) return serve();
    before.once("close", () => {
      // The time limit for reading the response before does not apply to this one.
      socket.setTimeout(0);
      serve();
    });
  });
  app.addHook("preClose", async () => {
    isStopping = true;
    // Node does not count them as idle and would wait for them.
    for (const { isUnused, socket } of connections.values()) if (isUnused) socket.destroy();
    // A server that closes no longer ends requests that arrive too slowly, and would wait for them.
    const endLate = () => {
      for (const { responses, socket } of connections.values()) {
        const areWhole = responses.size > 0 && [...responses].every(({ req }) => req.complete);
        if (!areWhole) socket.destroy();
      }
    };
    setTimeout(endLate, requestMsMax).unref();
  });
  // Tells clients that send one request at a time. Further ones that are under way need the connection.
  app.addHook("onSend", (request, reply, _payload, done) => {
    const isLast = connections.get(peerOf(request.raw.socket))?.responses.size === 1;
    if (isStopping && isLast) reply.header("Connection", "close");
    done();
  });
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
