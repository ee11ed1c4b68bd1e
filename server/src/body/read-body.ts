/**
 * Reads the body of a request: parsed in parts as it arrives, its arrays checked and decoded element by element, other
 * requests served in between.
 */

import type { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import { SealdexError } from "sealdex/core";
import { decodeElement, yieldIfDue } from "sealdex/wire";
import { shapeError } from "../shape-error.js";
import type { ArrayRule } from "./body-schema.js";
import { type ArrayPart, JsonParts } from "./json-parts.js";

declare module "fastify" {
  interface FastifyContextConfig {
    arrays?: ReadonlyMap<string, ArrayRule>;
  }
}

/** Bodies up to this length are read without a pause. */
const smallBytes = 64 * 1024;

/** The body, with arrays of decoded elements. Throws `invalid_request`, or `too_large`. */
export async function readBody(request: FastifyRequest, payload: Readable): Promise<unknown> {
  const { bodyLimit, config } = request.routeOptions;
  const arrays = new BodyArrays(config.arrays ?? new Map());
  const parts = new JsonParts();
  let fault: unknown;
  let bytes = 0;
  // What is wrong is said once all has arrived: many clients do not listen before they have sent everything.
  for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
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
  // Many clients declare JSON with every request, and send none to a route that takes no body.
  if (bytes === 0 && request.routeOptions.schema?.body === undefined) return undefined;
  const body = arrays.within(parts.finish());
  // What it asks for begins in a turn of its own.
  if (bytes > smallBytes) await yieldIfDue();
  return body;
}

/** Throws `too_large` for a request that says that its body is longer than the route allows. */
export function checkDeclaredLength({ headers, routeOptions: { bodyLimit } }: FastifyRequest): void {
  if (Number(headers["content-length"]) > bodyLimit) throw tooLarge(bodyLimit);
}

/** The arrays of a body, as far as they have arrived. */
class BodyArrays {
  readonly #rules: ReadonlyMap<string, ArrayRule>;
  readonly #arrays = new Map<string, unknown[]>();

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
    const array = this.#arrays.get(name) ?? [];
    this.#arrays.set(name, array);
    for (const [i, element] of elements.entries()) {
      const faults = rule.faultsOf(element);
      if (faults !== undefined) throw shapeError(faults, "body", `/${name}/${start + i}`);
      array.push(decodeElement(name, element, `${name}[${start + i}]`));
    }
  }

  /** The rest of the body, with its arrays in their places. */
  within(rest: unknown): unknown {
    if (typeof rest !== "object" || rest === null || Array.isArray(rest)) return rest;
    const own = [...this.#arrays].filter(([name]) => Array.isArray((rest as Record<string, unknown>)[name]));
    return { ...rest, ...Object.fromEntries(own) };
  }
}

function tooLarge(bodyLimit: number): SealdexError {
  return new SealdexError("too_large", `body: expected at most ${bodyLimit} bytes; send less at a time`);
}
