/** Shapes for the wraps of an index. */

import { Type } from "typebox";
import { done, oneOf, optional, post } from "./shapes.js";

const name = Type.String({
  description: "Name of the holder: 1 to 128 bytes of UTF-8 without control characters. Stored sealed.",
  examples: ["reporting"],
});

export const addWrap = post(
  "indexes",
  "Adds a key to the index. Requires the owner's index_key, like all routes for wraps.",
  done,
  {
    name,
    wrap_key: Type.String({
      pattern: "^[0-9a-fA-F]{64}$",
      description: "The holder's key: 32 bytes as 64 hexadecimal characters, to be sent as `index_key`.",
    }),
    access: oneOf("read-only", "read-write"),
    expires_at: optional(
      Type.String({ maxLength: 40 }),
      "Time from which the key opens nothing, ISO 8601 with a zone. Default: never.",
    ),
  },
);

export const listWraps = post(
  "indexes",
  "The keys that open the index, the owner's first.",
  Type.Object({
    wraps: Type.Array(
      Type.Object({
        name: Type.String(),
        access: oneOf("owner", "read-only", "read-write"),
        expires_at: Type.Optional(Type.String({ format: "date-time" })),
        provider: Type.Optional(Type.String({ description: "Name of the key provider, if there is one." })),
      }),
    ),
  }),
  {},
);

export const revokeWrap = post(
  "indexes",
  "Revokes one key. Later writes use data keys that its holder never had.",
  done,
  { name },
);
