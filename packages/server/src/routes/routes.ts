/** Every route of the service. */

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
