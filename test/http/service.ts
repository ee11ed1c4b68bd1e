/** A real service on a port of its own, and plain requests to it. */

import {
  createClient,
  type EmbeddedClientOptions,
  generateKey,
  type HttpClientOptions,
} from "../../src/core.js";
import { mediaType } from "../../src/client/wire/wire.js";
import { type AppOptions, createApp } from "../../packages/server/src/app.js";

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export interface RunningService {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The options of a client of it. */
  readonly address: HttpClientOptions;
  /** Sends a value as JSON, or text as it is. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Creates an index over HTTP and returns its name and key, as bodies have them. */
  newIndex(options?: object): Promise<{ index_name: string; index_key: string }>;
  close(): Promise<void>;
}

export async function startService(
  options: Partial<EmbeddedClientOptions> &
    Pick<
      AppOptions,
      | "log"
      | "limits"
      | "issuing"
      | "audit"
      | "metrics"
      | "dashboard"
      | "checkStorage"
      | "indexKey"
      | "certificates"
      | "corsOrigins"
    > = {},
): Promise<RunningService> {
  const {
    log,
    limits,
    issuing,
    audit,
    metrics,
    dashboard,
    checkStorage,
    indexKey,
    certificates,
    corsOrigins,
    ...locations
  } = options;
  const apiKey = generateKey();
  const client = createClient({
    indexLocation: { location: "memory" },
    models: { allowed: [], failWhileLoading: true },
    ...locations,
  });
  const app = await createApp({
    client,
    apiKeys: [generateKey(), apiKey],
    version: "1.2.3",
    ...(log && { log }),
    // Whether the event loop is late depends on the machine.
    limits: { eventLoopDelayMsMax: 0, ...limits },
    ...(issuing && { issuing }),
    ...(audit && { audit }),
    ...(indexKey && { indexKey }),
    ...(metrics && { metrics }),
    ...(certificates && { certificates }),
    ...(corsOrigins && { corsOrigins }),
    ...(dashboard && { dashboard }),
    ...(checkStorage && { checkStorage }),
  });
  const baseUrl = await app.listen({ host: "127.0.0.1", port: 0 });
  let made = 0;

  async function send(path: string, init: RequestInit): Promise<Answer> {
    // Errors with their codes, as Sealdex's own client asks for them.
    const headers = { Accept: mediaType, ...init.headers };
    const response = await fetch(baseUrl + path, { ...init, headers });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }
  const post: RunningService["post"] = (path, body, headers) =>
    send(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": apiKey, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return {
    baseUrl,
    apiKey,
    address: { baseUrl, apiKey },
    post,
    get: (path, headers) => send(path, { headers: { "X-API-Key": apiKey, ...headers } }),
    newIndex: async (given = {}) => {
      const address = { index_name: `index ${made++}`, index_key: generateKey() };
      const { status, body } = await post("/v1/indexes/create", { ...address, ...given });
      if (status !== 200) throw new Error(JSON.stringify(body));
      return address;
    },
    close: async () => {
      await app.close();
      await client.close();
    },
  };
}
