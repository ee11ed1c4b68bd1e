/** A server between a client and a real one, which a test can have do what networks and lesser servers do. */

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

export interface ProxyRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Sends the request on as it came, and resolves to the answer. */
  forward(): Promise<ProxyAnswer>;
}

export interface ProxyAnswer {
  readonly status: number;
  readonly headers?: Record<string, string | string[] | undefined>;
  readonly body?: Buffer | string;
}

/**
 * What becomes of a request. "cut": the connection ends without an answer. "halve": in the middle of the answer; or
 * there it stays, and something else happens then.
 */
export type Behaviour = (
  request: ProxyRequest,
) => Promise<ProxyAnswer | "cut" | { halve: ProxyAnswer; meanwhile?: () => void }>;

export interface Proxy {
  readonly endpoint: string;
  behaviour: Behaviour;
  /** What came, as "PUT", in order. */
  readonly methods: string[];
  /** Connections open now. */
  connections(): Promise<number>;
  stop(): Promise<void>;
}

export const passOn: Behaviour = (request) => request.forward();

export async function startProxy(target: string): Promise<Proxy> {
  async function collect(stream: IncomingMessage): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of stream) parts.push(part as Buffer);
    return Buffer.concat(parts);
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = incoming;
    const body = await collect(incoming);
    proxy.methods.push(method);
    const forward = () =>
      new Promise<ProxyAnswer>((resolve, reject) => {
        const { expect: _, ...passed } = headers;
        const options = { method, path: url, headers: { ...passed, connection: "close" } };
        const { hostname, port } = new URL(target);
        const outgoing = requestHttp({ hostname, port, ...options, agent: false }, (answer) => {
          collect(answer).then(
            (received) =>
              resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: received }),
            reject,
          );
        });
        outgoing.on("error", reject);
        outgoing.end(body);
      });
    const answer = await proxy.behaviour({ method, url, headers, body, forward });
    if (answer === "cut") return void response.destroy();
    const { status, headers: own = {}, body: content = "" } = "halve" in answer ? answer.halve : answer;
    const { connection: _, "transfer-encoding": __, ...kept } = own;
    const bytes = Buffer.from(content as string);
    const isHead = method === "HEAD";
    response.writeHead(
      status,
      isHead || status === 204 ? kept : { ...kept, "content-length": String(bytes.length) },
    );
    if (!("halve" in answer)) return void response.end(isHead ? undefined : bytes);
    response.write(bytes.subarray(0, bytes.length >> 1));
    setTimeout("meanwhile" in answer && answer.meanwhile ? answer.meanwhile : () => response.destroy(), 20);
  }

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: Proxy = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behaviour: passOn,
    methods: [],
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
      }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}
