/** Every route of the service. */

import { withExample } from "../schemas/examples.js";
import type { Server } from "../http/http-server.js";
import { addAdminRoutes } from "./admin.js";
import { addIndexRoutes } from "./indexes.js";
import { addKeyRoutes } from "./keys.js";
import { addLeafRoutes } from "./leaf.js";
import { addMetadataRoutes } from "./metadata.js";
import { addHealthRoutes, addOperationRoutes } from "./operations.js";
import type { Routes } from "./services.js";
import { addUserRoutes } from "./users.js";
import { addVectorRoutes } from "./vectors.js";
import { addWrapRoutes } from "./wraps.js";

/** Open to all. */
export const openRoutes: readonly Routes[] = [addHealthRoutes];

/** For callers with an API key. */
export const keyRoutes: readonly Routes[] = [
  addExamples,
  addIndexRoutes,
  addWrapRoutes,
  addVectorRoutes,
  addMetadataRoutes,
  addLeafRoutes,
  addOperationRoutes,
  addKeyRoutes,
  addUserRoutes,
  addAdminRoutes,
];

/** Gives the bodies of the routes after it their examples, for the OpenAPI document. */
function addExamples(scope: Server): void {
  scope.addHook("onRoute", (route) => {
    const { body } = route.schema ?? {};
    if (body) route.schema = { ...route.schema, body: withExample(body, route.url) };
  });
}
