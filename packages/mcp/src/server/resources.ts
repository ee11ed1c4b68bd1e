/** Documents as resources, `sealdex://<source>/<path>`, listed in pages. */

import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { asData } from "./as-data.js";
import type { Served } from "./create-server.js";

const scheme = "sealdex://";
const resourcesPerPage = 100;
/** Of the protocol. */
const resourceNotFound = -32002;

/** Not through the server's own registry, which has no pages. */
export function addResources({ server }: McpServer, { index, log }: Served): void {
  server.registerCapabilities({ resources: {} });
  server.setRequestHandler(ListResourcesRequestSchema, async ({ params }) => {
    const { documents, cursor } = await safely(index.list(resourcesPerPage, params?.cursor), log);
    return {
      resources: documents.map(({ document, size }) => ({
        uri: scheme + document.split("/").map(encodeURIComponent).join("/"),
        name: document,
        mimeType: "text/plain",
        size,
      })),
      ...(cursor !== undefined && { nextCursor: cursor }),
    };
  });
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [
      { uriTemplate: `${scheme}{source}/{+path}`, name: "document", mimeType: "text/plain" },
    ],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => {
    const document = parse(uri);
    const page = document === undefined ? undefined : await safely(index.read(document, 0), log);
    if (document === undefined || page === undefined)
      throw new McpError(resourceNotFound, "no such document");
    const rest =
      page.next === undefined ? "" : `\n\nThe tool read continues with part ${page.next} of ${document}.`;
    const text = asData([{ document, part: 0, text: page.text }]) + rest;
    return { contents: [{ uri, mimeType: "text/plain", text }] };
  });
}

function parse(uri: string): string | undefined {
  try {
    return uri.startsWith(scheme) ? decodeURIComponent(uri.slice(scheme.length)) : undefined;
  } catch {
    return undefined;
  }
}

async function safely<T>(work: Promise<T>, log: (text: string) => void): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { name, message, code } = error as Error & { readonly code?: unknown };
    log(`A request failed: ${message}`);
    const isOurs = name === "SealdexError";
    // Only a cursor can be invalid.
    const kind = isOurs && code === "invalid_request" ? ErrorCode.InvalidParams : ErrorCode.InternalError;
    throw new McpError(kind, isOurs ? message : "the server failed");
  }
}
