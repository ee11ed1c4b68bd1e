/** Lets pages of other origins call the service. Keys are in headers and bodies, never in cookies. */

import cors from "@fastify/cors";
import type { Server } from "./http-server.js";

/** How long a browser may remember that a call is allowed. */
const preflightSeconds = 600;

export async function allowOrigins(app: Server, origins: readonly string[]): Promise<void> {
  await app.register(cors, {
    origin: [...origins],
    methods: ["GET", "POST", "DELETE"],
    allowedHeaders: [
      "Content-Type",
      "X-API-Key",
      "X-Describe-Form",
      "X-Index-Key",
      "X-Profile",
      "X-Request-Id",
    ],
    exposedHeaders: ["Retry-After", "Server-Timing", "X-Error-Code", "X-Request-Id"],
    maxAge: preflightSeconds,
    // The plugin would refuse other requests with OPTIONS as plain text.
    strictPreflight: false,
  });
}
