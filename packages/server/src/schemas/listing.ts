/** Shapes of requests for items by id, and for lists of items. */

import { Type } from "typebox";
import { expiresAt, itemName, metadata, namespace, vector, which } from "./schemas.js";
import { orderBy } from "./query-fields.js";
import { fieldsMax, limitedItems, oneOf, optional, post } from "./shapes.js";

const storedItem = Type.Object(
  {
    ...itemName,
    vector: Type.Optional(vector),
    decoded: Type.Optional(vector),
    contents: Type.Optional(Type.String()),
    metadata: Type.Optional(metadata),
    expires_at: expiresAt,
  },
  { title: "StoredItem" },
);
const itemInclude = optional(
  Type.Array(oneOf("vector", "contents", "metadata", "decoded"), { maxItems: fieldsMax }),
  "Default: all but `decoded`, the vector as decoded from the codes.",
);
const after = optional(Type.String(), "Only ids after this one.");

export const getItems = post(
  "vectors",
  "Items by id, in this order; unknown ids are skipped.",
  Type.Object({ results: Type.Array(storedItem) }),
  { ids: Type.Array(Type.String(), limitedItems), namespace, include: itemInclude },
);

export const listItems = post(
  "vectors",
  "A page of items in the order of their ids, or of order_by. All pages show one state of the index.",
  Type.Object({
    results: Type.Array(storedItem),
    cursor: Type.Optional(Type.String({ description: "Cursor of the next page; absent on the last one." })),
  }),
  {
    ...which,
    include: itemInclude,
    limit: optional(
      Type.Integer(),
      "Items per page, 1 to 10,000. Default 1,000. A page of large items ends earlier.",
    ),
    cursor: optional(
      Type.String({ maxLength: 1000 }),
      "Cursor of the previous page. 404 if its state was replaced at least 15 minutes ago and is no longer stored.",
    ),
    after,
    order_by: orderBy,
  },
);

export const listIds = post(
  "vectors",
  "Ids of all items, or of those that match, in string order.",
  Type.Object({ ids: Type.Array(Type.String()), count: Type.Integer() }),
  {
    limit: optional(Type.Integer(), "Maximum number."),
    after,
    ...which,
  },
);
