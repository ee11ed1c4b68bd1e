/** Fields of requests for ordered items. */

import { Type } from "typebox";
import { optional } from "./shapes.js";

/** Limit of fields in an order. */
const orderFieldsMax = 8;

export const orderBy = optional(
  Type.Union([
    Type.String(),
    Type.Record(
      Type.String(),
      Type.Union([Type.Literal("asc"), Type.Literal("desc"), Type.Literal(1), Type.Literal(-1)]),
      { title: "Order", minProperties: 1, maxProperties: orderFieldsMax },
    ),
  ]),
  'A field, by a dotted path, or `{ field: "desc" }`, with more fields for equal values. Numbers, texts, then booleans; items without ' +
    "one of these come last.",
);

/** Fields of a query that may be by metadata only. */
export const orderFields = {
  order_by: orderBy,
  cursor: optional(
    Type.String(),
    "Of the previous page of a query with order_by. All pages show one state of the index.",
  ),
};
