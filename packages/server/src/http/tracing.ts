/**
 * OpenTelemetry spans: one per request here, one per storage call in metrics. Without an SDK, which the operator
 * loads, none is recorded. No attribute contains an index name, id, key, text or vector.
 */

import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { Server } from "./http-server.js";
import { whenEnded } from "./request-end.js";

export const tracer = trace.getTracer("sealdex-server");

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
