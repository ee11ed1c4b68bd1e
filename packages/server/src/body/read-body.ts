/**
 * Reads the body of a request, and checks and decodes its arrays element by element while it
 * arrives, with turns for other requests.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { errorCodes, type FastifyRequest } from "fastify";
import { SealdexError } from "sealdex/core";
import { binaryVectors, decodeElement, invalid, yieldIfDue } from "sealdex/wire";
import { shapeError } from "./shape-error.js";
import { type ArrayRule, type BodyStreams, noStreams } from "./body-schema.js";
import { type ArrayPart, Fault, parseParts, type Part, placeIn } from "./json-parts.js";
import { ThreadParser } from "./thread-parser.js";

declare module "fastify" {
  interface FastifyContextConfig {
    streams?: BodyStreams;
  }
}

/** Longer bodies are parsed in a thread while they arrive. */
const shortBytes = 1024 * 1024;

/** Returns the body with decoded arrays. Throws `invalid_request`, or `too_large`. */
export async function readBody(request: FastifyRequest, payload: Readable): Promise<unknown> {
  const { bodyLimit, config, schema } = request.routeOptions;
  const { rules, streamed } = config.streams ?? noStreams;
  const decoded = new DecodedParts(rules);
  let short: Buffer[] = [];
  let parser: ThreadParser | undefined;
  let fault: unknown;
  let bytes = 0;
  // Errors are sent after the whole body has arrived: many clients read no response before that.
  const content = isGzip(request.headers) ? unzipped(payload) : payload.iterator({ destroyOnReturn: false });
  try {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bodyLimit) throw tooLarge(bodyLimit);
      if (fault !== undefined) continue;
      short.push(chunk);
      if (bytes <= shortBytes) continue;
      try {
        parser ??= new ThreadParser(streamed);
        for (const piece of short) await decoded.add(await parser.push(piece));
      } catch (error) {
        fault = error;
      }
      short = [];
    }
    if (fault !== undefined) throw fault;
    // Many clients declare JSON in every request, even without a body.
    if (bytes === 0 && schema?.body === undefined) return undefined;
    if (bytes === 0) throw new Fault("body: expected JSON, got nothing");
    if (parser !== undefined) return decoded.placedIn(await parser.finish());
    const { parts, rest } = parseParts(Buffer.concat(short), streamed);
    await decoded.add(parts);
    return decoded.placedIn(rest);
  } catch (error) {
    throw error instanceof Fault ? invalid(error.message) : error;
  } finally {
    parser?.close();
    // Work starts in a turn of its own, so that requests that arrive together take turns.
    await yieldIfDue();
  }
}

/**
 * Throws if the declared body is longer than the route allows, or has another encoding than gzip.
 */
export function checkDeclaredBody({ headers, routeOptions: { bodyLimit } }: FastifyRequest): void {
  const { "content-encoding": encoding = "identity", "content-length": length } = headers;
  if (encoding.toLowerCase() !== "identity" && !isGzip(headers)) {
    throw new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE(encoding);
  }
  if (Number(length) > bodyLimit) throw tooLarge(bodyLimit);
}

export function isGzip({ "content-encoding": encoding }: IncomingHttpHeaders): boolean {
  return encoding?.toLowerCase() === "gzip";
}

/** Unzips any amount as it arrives. The payload stays open for a response if reading stops. */
async function* unzipped(payload: Readable): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const stop = () => {
    if (!payload.readableEnded) gunzip.destroy(new Error("the client closed the connection"));
  };
  payload.once("close", stop).pipe(gunzip);
  try {
    yield* gunzip as AsyncIterable<Buffer>;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code?.startsWith("Z_") === true) throw invalid("body: expected gzip, as Content-Encoding says");
    throw error;
  } finally {
    payload.off("close", stop).unpipe(gunzip);
  }
}

/** Decodes the parts of a body as they arrive. */
class DecodedParts {
  readonly #rules: ReadonlyMap<string, ArrayRule>;
  readonly #decoded = new Map<string, unknown>();

  constructor(rules: ReadonlyMap<string, ArrayRule>) {
    this.#rules = rules;
  }

  async add(parts: readonly Part[]): Promise<void> {
    for (const part of parts) {
      if ("bytes" in part) this.#decoded.set(part.name, binaryVectors(part.bytes));
      else this.#addElements(part);
      await yieldIfDue();
    }
  }

  /** Puts the parts into the rest of the body. */
  placedIn(rest: unknown): unknown {
    for (const [name, part] of this.#decoded) {
      const place = placeIn(rest, name);
      if (place !== undefined) place.holder[place.key] = part;
    }
    return rest;
  }

  #addElements({ name, start, elements }: ArrayPart): void {
    const rule = this.#rules.get(name);
    if (rule === undefined) return;
    const count = start + elements.length;
    if (count > rule.maxItems) {
      throw invalid(`${name}: expected at most ${rule.maxItems} entries, got ${count} or more`);
    }
    const known = this.#decoded.get(name);
    const array: unknown[] = Array.isArray(known) ? known : [];
    this.#decoded.set(name, array);
    // Validating each number of a vector would take longer than the query.
    const areNumbers = rule.takesNumbers && elements.every(Number.isFinite);
    for (const [i, element] of elements.entries()) {
      const faults = areNumbers ? undefined : rule.faultsOf(element);
      if (faults !== undefined) {
        throw shapeError(faults, "body", `/${name.replace(".", "/")}/${start + i}`);
      }
      array.push(areNumbers ? element : decodeElement(name, element, `${name}[${start + i}]`));
    }
  }
}

function tooLarge(bodyLimit: number): SealdexError {
  return new SealdexError("too_large", `body: expected at most ${bodyLimit} bytes; send less at a time`);
}
