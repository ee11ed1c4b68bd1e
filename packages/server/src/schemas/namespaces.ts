/** The shapes of what concerns whole namespaces. */

import { Type } from "typebox";
import { address } from "./schemas.js";
import { post } from "./shapes.js";

export const listNamespaces = post(
  "indexes",
  "Names of namespaces that have items, in the order of string comparison.",
  Type.Object({ namespaces: Type.Array(Type.String()) }),
  address,
);

const erasure = {
  namespace: Type.String(),
  erased_at: Type.String({ format: "date-time" }),
  rows: Type.Integer({ description: "Stored rows, replaced and deleted ones too. 0 if there was nothing." }),
  version: Type.Integer({ description: "The first version of the index without them." }),
};

export const erase = post(
  "indexes",
  "Erases a namespace for good: without its secret, which is destroyed, nobody reads what any version of the storage retains of it.",
  Type.Object({
    ...erasure,
    receipt: Type.String({ description: "All of that, signed with the index's key for commits." }),
  }),
  { ...address, namespace: Type.String({ maxLength: 512 }) },
);

export const readReceipt = post(
  "indexes",
  "What the receipt of an erasure says, if a writer of this index signed it under keys that are still in use. Otherwise 422.",
  Type.Object(erasure),
  { ...address, receipt: Type.String({ maxLength: 8192 }) },
);
