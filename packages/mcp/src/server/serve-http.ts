/** Streamable HTTP: a token in each request, and only names and origins that were allowed, against DNS rebinding. */

import { createHash, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

export interface HttpSettings {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  /** Names by which clients call the server, besides those of this machine. */
  readonly allowedHosts: readonly string[];
  readonly createServer: () => McpServer;
  readonly log: (text: string) => void;
}

export interface HttpEndpoint {
  readonly url: string;
  close(): Promise<void>;
}

const loopback = ["localhost", "127.0.0.1", "[::1]"];
const path = "/mcp";
const requestTimeoutMs = 30_000;

export async function serveHttp(settings: HttpSettings): Promise<HttpEndpoint> {
  const { host, port, log } = settings;
  const { StreamableHTTPServerTransport } =
    await import("@modelcontextprotocol/sdk/server/streamableHttp.js");
  const server = createHttpServer({ requestTimeout: requestTimeoutMs }, (request, response) => {
    const refused = refusalOf(request, settings);
    if (refused) return refuse(response, refused);
    void serve(request, response).catch((error: unknown) => {
      log(`A request failed: ${error instanceof Error ? error.message : "unknown"}`);
      if (!response.headersSent) refuse(response, [500, "the server failed"]);
    });
  });
  /** Requests share nothing but the index, so there are no sessions that a client could leave behind. */
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    const mcp = settings.createServer();
    response.on("close", () => void mcp.close());
    await mcp.connect(transport);
    await transport.handleRequest(request, response);
  };
  server.listen(port, host);
  await once(server, "listening");
  const bound = server.address() as AddressInfo;
  const name = bound.family === "IPv6" ? `[${bound.address}]` : bound.address;
  return {
    url: `http://${name}:${bound.port}${path}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

type Refused = readonly [status: number, reason: string];

function refusalOf(request: IncomingMessage, settings: HttpSettings): Refused | undefined {
  const { host = "", origin, authorization = "" } = request.headers;
  const allowed = [...loopback, ...settings.allowedHosts];
  const isAllowed = (url: string) => URL.canParse(url) && allowed.includes(new URL(url).hostname);
  if (!isAllowed(`http://${host}`)) return [403, "this host name is not allowed"];
  if (origin !== undefined && !isAllowed(origin)) return [403, "this origin is not allowed"];
  if (!isEqual(authorization, `Bearer ${settings.token}`))
    return [401, "expected the token as Authorization: Bearer"];
  const [target, base] = [request.url ?? "/", "http://localhost"];
  // A target such as `//` is no URL.
  if (!URL.canParse(target, base) || new URL(target, base).pathname !== path)
    return [404, `expected ${path}`];
  if (request.method !== "POST") return [405, "expected POST: there are no sessions"];
  return undefined;
}

function refuse(response: ServerResponse, [status, message]: Refused): void {
  const headers = {
    "Content-Type": "application/json",
    ...(status === 401 && { "WWW-Authenticate": "Bearer" }),
    ...(status === 405 && { Allow: "POST" }),
  };
  response.writeHead(status, headers);
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message }, id: null }));
}

/** In constant time. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
