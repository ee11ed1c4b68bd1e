/** Shapes for namespaces. */

import { Type } from "typebox";
import { post } from "./shapes.js";

export const listNamespaces = post(
  "indexes",
  "Names of namespaces that have items, in string order.",
  Type.Object({ namespaces: Type.Array(Type.String()) }),
  {},
);

const erasure = {
  namespace: Type.String(),
  erased_at: Type.String({ format: "date-time" }),
  rows: Type.Integer({ description: "Stored rows, replaced and deleted ones too. 0 if there were none." }),
  version: Type.Integer({ description: "The first version of the index without them." }),
};

export const erase = post(
  "indexes",
  "Erases a namespace permanently: it destroys the secret that any stored version of its items needs.",
  Type.Object({
    ...erasure,
    receipt: Type.String({ description: "The same, signed by the index's key for commits." }),
  }),
  { namespace: Type.String({ maxLength: 512 }) },
);

export const readReceipt = post(
  "indexes",
  "Reads the receipt of an erasure. 422 unless a writer of this index signed it, under keys in use.",
  Type.Object(erasure),
  { receipt: Type.String({ maxLength: 8192 }) },
);
