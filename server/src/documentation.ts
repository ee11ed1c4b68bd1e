/** The OpenAPI document at `/v1/openapi.json`, and pages made from it at `/docs`. */

import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { Server } from "./http-server.js";

export async function addDocumentation(app: Server, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Sealdex",
        version,
        description: "Encrypted vector indexes: nearest neighbours of vectors and texts.",
      },
      components: {
        securitySchemes: { apiKey: { type: "apiKey", name: "X-API-Key", in: "header" } },
      },
      security: [{ apiKey: [] }],
    },
  });
  await app.register(swaggerUi, { routePrefix: "/docs", staticCSP: contentSecurityPolicy });
  app.get("/v1/openapi.json", { schema: { hide: true } }, async () => app.swagger());
}

/** The pages run their own scripts and ask this service, nothing else. Styles are set by their scripts too. */
const contentSecurityPolicy = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": ["'self'", "'unsafe-inline'"],
  "img-src": ["'self'", "data:"],
  "font-src": "'self'",
  "connect-src": "'self'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
};
