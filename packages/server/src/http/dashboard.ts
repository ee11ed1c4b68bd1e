/** The pages of the dashboard at `/admin`, from files of the build. They call only this service. */

import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import type { FastifyError } from "fastify";
import { replyWithNoFile } from "./error-reply.js";
import type { Server } from "./http-server.js";

/** The same folder from the sources and from the build. */
const root = fileURLToPath(new URL("../../dist/admin", import.meta.url));

export async function addDashboard(app: Server): Promise<void> {
  // Relative, so that a proxy may serve it under another path.
  app.get("/admin", { schema: { hide: true } }, async (_request, reply) => reply.redirect("admin/"));
  await app.register(async (pages) => {
    pages.setErrorHandler<FastifyError>(replyWithNoFile);
    pages.addHook("onSend", async (_request, reply) => void reply.headers(headers));
    // Revalidated by ETag each time: the service may have been updated.
    await pages.register(fastifyStatic, { root, prefix: "/admin/", schemaHide: true, cacheControl: false });
  });
}

/**
 * No inline scripts or styles, no other origin, no HTML from text. Typed keys stay in this page.
 */
const headers = {
  "Cache-Control": "no-cache",
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
  "Referrer-Policy": "no-referrer",
};
