/** Calls of a store's HTTP interface. */

import { setTimeout as sleep } from "node:timers/promises";
import { SealdexError } from "sealdex/core";
import { parseJson } from "./json-values.js";
import { invalid } from "./source.js";

const attempts = 6;
const timeoutMs = 120_000;

type Headers = Readonly<Record<string, string>>;

/** Integers beyond 2^53 came as bigints. */
function jsonText(body: unknown): string {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
  return JSON.stringify(body, (_, value: unknown) =>
    typeof value === "bigint" ? rawJSON(String(value)) : value,
  );
}

/** Sends JSON, or nothing, and returns the JSON of the response. Repeats a call that met a busy or absent server. */
export class JsonCaller {
  readonly #base: string;
  readonly #headers: Headers;

  /** `base` without a slash at its end. */
  constructor(base: string, headers: Headers) {
    this.#base = base;
    this.#headers = headers;
  }

  get(path: string): Promise<unknown> {
    return this.#call(path, {});
  }

  /** `secret`: a part of the body that no message may repeat, although the server may. */
  post(path: string, body: unknown, secret?: string): Promise<unknown> {
    return this.#call(path, { method: "POST", body: jsonText(body) }, secret);
  }

  async #call(path: string, request: RequestInit, secret = ""): Promise<unknown> {
    let failure = new SealdexError("storage_unavailable", `${this.#base}: no response`);
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await sleep(250 * 2 ** attempt);
      try {
        const response = await fetch(this.#base + path, {
          ...request,
          headers: { "Content-Type": "application/json", ...this.#headers },
          redirect: "manual",
          signal: AbortSignal.timeout(timeoutMs),
        });
        // Another host would get the API key.
        if (response.status >= 300 && response.status < 400)
          throw invalid(`${this.#base}: it redirects to another address; give that one`);
        const text = await response.text();
        if (response.ok) return parseJson(text);
        const said = (secret === "" ? text : text.replaceAll(secret, "…")).slice(0, 200);
        failure = new SealdexError(
          "storage_unavailable",
          `${this.#base}${path.split("?")[0]}: ${response.status} ${said}`,
        );
        if (response.status < 500 && response.status !== 429) break;
      } catch (cause) {
        if (cause instanceof SealdexError) throw cause;
        if (cause instanceof SyntaxError) throw invalid(`${this.#base}: expected JSON, got another response`);
        failure = new SealdexError("storage_unavailable", `${this.#base}: it does not respond`, { cause });
      }
    }
    throw failure;
  }
}
