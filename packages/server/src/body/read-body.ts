/**
 * Reads the body of a request, and checks and decodes its arrays element by element while it
 * arrives, with turns for other requests.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { errorCodes, type FastifyRequest } from "fastify";
import { SealdexError } from "sealdex/core";
import { decodeElement, invalid, yieldIfDue } from "sealdex/wire";
import { shapeError } from "./shape-error.js";
import type { ArrayRule, BodyStreams } from "./body-schema.js";
import type { Base64Floats } from "./base64-floats.js";
import { type ArrayPart, JsonParts } from "./json-parts.js";

declare module "fastify" {
  interface FastifyContextConfig {
    streams?: BodyStreams;
  }
}

/** Bodies up to this length are read without a pause. */
const smallBytes = 64 * 1024;

/** Returns the body with decoded arrays. Throws `invalid_request`, or `too_large`. */
export async function readBody(request: FastifyRequest, payload: Readable): Promise<unknown> {
  const { bodyLimit, config } = request.routeOptions;
  const arrays = new BodyArrays(config.streams?.arrays ?? new Map());
  const parts = new JsonParts(config.streams?.nested);
  let fault: unknown;
  let bytes = 0;
  // Errors are sent after the whole body has arrived: many clients read no response before that.
  const content = isGzip(request.headers) ? unzipped(payload) : payload.iterator({ destroyOnReturn: false });
  for await (const chunk of content as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyLimit) throw tooLarge(bodyLimit);
    if (fault !== undefined) continue;
    try {
      for (const part of parts.push(chunk)) {
        arrays.add(part);
        await yieldIfDue();
      }
      if (bytes > smallBytes) await yieldIfDue();
    } catch (error) {
      fault = error;
    }
  }
  if (fault !== undefined) throw fault;
  // Many clients declare JSON in every request, even without a body.
  if (bytes === 0 && request.routeOptions.schema?.body === undefined) return undefined;
  const body = placed(parts.finish(), arrays.arrays, parts.floats);
  // Work starts in a turn of its own, so that requests that arrive together take turns.
  await yieldIfDue();
  return body;
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

/** Decodes the arrays of a body as they arrive. */
class BodyArrays {
  readonly #rules: ReadonlyMap<string, ArrayRule>;
  readonly arrays = new Map<string, unknown[]>();

  constructor(rules: ReadonlyMap<string, ArrayRule>) {
    this.#rules = rules;
  }

  add({ name, start, elements }: ArrayPart): void {
    const rule = this.#rules.get(name);
    if (rule === undefined) return;
    const count = start + elements.length;
    if (count > rule.maxItems) {
      throw new SealdexError(
        "invalid_request",
        `${name}: expected at most ${rule.maxItems} entries, got ${count} or more`,
      );
    }
    const known = this.arrays.get(name);
    // Validating each number of a vector would take longer than the query.
    if (rule.takesNumbers && elements.every(Number.isFinite)) {
      if (known === undefined) this.arrays.set(name, elements);
      else for (const element of elements) known.push(element);
      return;
    }
    const array = known ?? [];
    this.arrays.set(name, array);
    for (const [i, element] of elements.entries()) {
      const faults = rule.faultsOf(element);
      if (faults !== undefined) {
        throw shapeError(faults, "body", `/${name.replace(".", "/")}/${start + i}`);
      }
      array.push(decodeElement(name, element, `${name}[${start + i}]`));
    }
  }
}

/** Puts the streamed parts into the rest of the body. */
function placed(
  rest: unknown,
  arrays: ReadonlyMap<string, unknown[]>,
  floats: ReadonlyMap<string, Base64Floats>,
): unknown {
  if (!isObject(rest)) return rest;
  const body: Record<string, unknown> = { ...rest };
  for (const [path, part] of [...arrays, ...floats]) {
    const [parent, name = ""] = path.split(".");
    const isPlace = (value: unknown) => (Array.isArray(part) ? Array.isArray(value) : value === "");
    if (Object.hasOwn(body, path) && isPlace(body[path])) body[path] = part;
    else if (Object.hasOwn(body, parent)) {
      const inner = body[parent];
      if (isObject(inner) && isPlace(inner[name])) body[parent] = { ...inner, [name]: part };
    }
  }
  return body;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function tooLarge(bodyLimit: number): SealdexError {
  return new SealdexError("too_large", `body: expected at most ${bodyLimit} bytes; send less at a time`);
}
