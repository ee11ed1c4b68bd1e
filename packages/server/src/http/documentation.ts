/** The OpenAPI document at `/v1/openapi.json`, and its pages at `/docs`. */

import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyError } from "fastify";
import { replyWithNoFile } from "./error-reply.js";
import type { Server } from "./http-server.js";

export async function addDocumentation(app: Server, version: string, hasDashboard: boolean): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Sealdex",
        version,
        description: firstHint,
      },
      components: {
        securitySchemes: { apiKey: { type: "apiKey", name: "X-API-Key", in: "header" } },
      },
      security: [{ apiKey: [] }],
    },
    transform: ({ schema, url, route }) => ({
      url,
      schema: { operationId: operationId(String(route.method), url), ...schema },
    }),
    transformObject: (document) =>
      "openapiObject" in document ? withNamedShapes(document.openapiObject) : document.swaggerObject,
  });
  await app.register(async (pages) => {
    pages.setErrorHandler<FastifyError>(replyWithNoFile);
    await pages.register(swaggerUi, {
      routePrefix: "/docs",
      staticCSP: contentSecurityPolicy,
      // Without the bar that loads other documents.
      theme: { title: "Sealdex", css: [{ filename: "sealdex.css", content: ".topbar { display: none }" }] },
    });
  });
  const page = startPage(version, hasDashboard);
  app.get("/", { schema: { hide: true } }, async (_request, reply) =>
    reply.header("Content-Security-Policy", "default-src 'none'").type("text/html; charset=utf-8").send(page),
  );
  app.get("/v1/docs", { schema: { hide: true } }, async (_request, reply) => reply.redirect("../docs"));
  app.get("/v1/openapi.json", { schema: { hide: true } }, async () => app.swagger());
}

/** The name of a call in generated clients, such as `vectors_upsert` or `get_health`. */
function operationId(method: string, url: string): string {
  const path = url.replace(/^(\/v1)?\//, "").replaceAll(/\W/g, "_");
  return method === "POST" ? path : `${method.toLowerCase()}_${path}`;
}

/** Moves shapes with a title to the components, so that generated clients have one type for each. */
function withNamedShapes<D extends { paths?: object; components?: object }>(document: D): D {
  const schemas: Record<string, object> = {};
  const paths: unknown = JSON.parse(JSON.stringify(document.paths), (_name, value: unknown) => {
    if (typeof value !== "object" || value === null || !("title" in value)) return value;
    const { title, ...shape } = value;
    // Otherwise it is the shape of a field `title`.
    if (typeof title !== "string") return value;
    schemas[title] = shape;
    return { $ref: `#/components/schemas/${title}` };
  });
  return { ...document, paths, components: { ...document.components, schemas } };
}

/** Links are relative, so that a proxy may serve it under another path. */
function startPage(version: string, hasDashboard: boolean): string {
  const links = [
    ...(hasDashboard ? [["admin/", "/admin", "the dashboard"]] : []),
    ["docs", "/docs", "the HTTP interface, for people"],
    ["v1/openapi.json", "/v1/openapi.json", "the HTTP interface, for programs"],
    ["v1/health", "/v1/health", "whether the service is running"],
  ];
  const items = links.map(([href, path, what]) => `<li><a href="${href}">${path}</a>: ${what}</li>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sealdex</title>
<h1>Sealdex ${version}</h1>
<ul>
${items.join("\n")}
</ul>
</html>
`;
}

const firstHint = `Encrypted vector indexes: nearest neighbors of vectors and texts.

To begin: choose **Authorize** and enter an API key, one of \`SEALDEX_API_KEYS\` or the root key. Create an index with
\`POST /v1/indexes/create\`, under an index key from \`sealdex-server generate-key\`; store items with
\`POST /v1/vectors/upsert\`; search with \`POST /v1/vectors/query\`. The service does not keep index keys: an index whose
key is lost cannot be opened.`;

/** The pages run their own scripts, which also set styles, and call only this service. */
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
