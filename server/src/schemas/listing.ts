/** The shapes of requests for items by id, and for lists of them. */

import { Type } from "typebox";
import {
  address,
  expiresAt,
  fieldsMax,
  filter,
  filters,
  itemName,
  metadata,
  namespace,
  vector,
} from "../schemas.js";
import { orderBy } from "./order.js";
import { limitedItems, oneOf, optional, post } from "./shapes.js";

const storedItem = Type.Object({
  ...itemName,
  vector: Type.Optional(vector),
  decoded: Type.Optional(vector),
  contents: Type.Optional(Type.String()),
  metadata: Type.Optional(metadata),
  expires_at: expiresAt,
});
const itemInclude = optional(
  Type.Array(oneOf("vector", "contents", "metadata", "decoded"), { maxItems: fieldsMax }),
  "Default: all but `decoded`, which is what a compressed index still knows of the vector.",
);
const after = optional(Type.String(), "Only ids after this one.");

export const getItems = post(
  "vectors",
  "Items by id, in the order asked for; unknown ids are left out.",
  Type.Object({ results: Type.Array(storedItem) }),
  { ...address, ids: Type.Array(Type.String(), limitedItems), namespace, include: itemInclude },
);

export const listItems = post(
  "vectors",
  "A page of items in the order of their ids, or of `order_by`. All pages show the index as it was for the first one.",
  Type.Object({
    results: Type.Array(storedItem),
    cursor: Type.Optional(Type.String({ description: "For the next page. Absent after the last one." })),
  }),
  {
    ...address,
    namespace,
    filters,
    filter,
    include: itemInclude,
    limit: optional(
      Type.Integer(),
      "Items of one page, 1 to 10,000. Default 1,000. A page of large items ends earlier.",
    ),
    cursor: optional(
      Type.String({ maxLength: 1000 }),
      "Of the page before. 404 if the state that it shows was replaced 15 minutes ago or more and is not stored any more.",
    ),
    after,
    order_by: orderBy,
  },
);

export const listIds = post(
  "vectors",
  "Ids of all items, or of those that match, in the order of string comparison.",
  Type.Object({ ids: Type.Array(Type.String()), count: Type.Integer() }),
  {
    ...address,
    limit: optional(Type.Integer(), "At most so many."),
    after,
    namespace,
    filters,
    filter,
  },
);
