/** Sends JSON over connections that stay open. With `fetch`, a router takes twice the processor time per query. */

import { Agent, type IncomingMessage, request } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import { text } from "node:stream/consumers";

export class JsonSender {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #secureAgent = new SecureAgent({ keepAlive: true });
  readonly #headers: Readonly<Record<string, string>>;
  readonly #msMax: number;

  /** `msMax`: how long a connection may be silent. */
  constructor(headers: Readonly<Record<string, string>>, msMax: number) {
    this.#headers = { "Content-Type": "application/json", ...headers };
    this.#msMax = msMax;
  }

  /** Rejects if there is no response, or none that is JSON. */
  async post(url: string, body: string, signal: AbortSignal): Promise<{ status: number; body: unknown }> {
    const response = await this.#send(url, body, signal);
    return { status: response.statusCode ?? 0, body: JSON.parse(await text(response)) };
  }

  close(): void {
    this.#agent.destroy();
    this.#secureAgent.destroy();
  }

  #send(url: string, body: string, signal: AbortSignal): Promise<IncomingMessage> {
    const isSecure = url.startsWith("https:");
    const options = {
      method: "POST",
      agent: isSecure ? this.#secureAgent : this.#agent,
      headers: { ...this.#headers, "Content-Length": Buffer.byteLength(body) },
      timeout: this.#msMax,
      signal,
    };
    return new Promise((resolve, reject) => {
      const sending = isSecure ? secureRequest(url, options, resolve) : request(url, options, resolve);
      sending.once("timeout", () => sending.destroy(new Error("leaf: it does not respond")));
      sending.once("error", reject);
      sending.end(body);
    });
  }
}
