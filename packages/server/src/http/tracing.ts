/**
 * OpenTelemetry spans: one per request, one per storage call. Without an SDK, which the operator
 * loads, none is recorded. No attribute contains an index name, id, key, text or vector.
 */

import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { type BlobStore, SealdexError } from "sealdex/core";
import type { Server } from "./http-server.js";
import { whenEnded } from "./request-end.js";

const tracer = trace.getTracer("sealdex-server");

/** Continues the trace of the request's `traceparent` header. */
export function traceRequests(app: Server): void {
  app.addHook("onRequest", (request, reply, done) => {
    const { method, routeOptions, headers } = request;
    const parent = propagation.extract(context.active(), headers);
    const route = routeOptions.url ?? "none";
    const attributes = { "http.request.method": method, "http.route": route };
    const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent);
    whenEnded(reply, () => {
      const { failureCode } = request;
      if (reply.raw.writableFinished) span.setAttribute("http.response.status_code", reply.statusCode);
      if (failureCode !== undefined) span.setAttribute("error.type", failureCode);
      if (reply.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    context.with(trace.setSpan(parent, span), done);
  });
}

/** Wraps a store to record its calls. `location`: `index`, `config` or `anchor`. */
export function traced(store: BlobStore, location: string): BlobStore {
  const run = async <T>(operation: string, call: () => Promise<T>): Promise<T> => {
    const attributes = { "sealdex.location": location, "sealdex.operation": operation };
    const span = tracer.startSpan(`storage ${operation}`, { kind: SpanKind.CLIENT, attributes });
    try {
      const result = await call();
      if (ArrayBuffer.isView(result)) span.setAttribute("sealdex.bytes", result.byteLength);
      return result;
    } catch (error) {
      // The message names stored objects.
      span.setAttribute("error.type", error instanceof SealdexError ? error.code : "other");
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  };
  return {
    read: (key, range, options) => run("read", () => store.read(key, range, options)),
    create: (key, bytes, options) => run("create", () => store.create(key, bytes, options)),
    list: (prefix, options) => run("list", () => store.list(prefix, options)),
    delete: (keys, options) => run("delete", () => store.delete(keys, options)),
    close: () => store.close(),
  };
}
