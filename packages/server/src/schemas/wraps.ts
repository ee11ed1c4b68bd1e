/** The shapes of what concerns the wraps of an index. */

import { Type } from "typebox";
import { address } from "./schemas.js";
import { done, oneOf, optional, post } from "./shapes.js";

const name = Type.String({
  description: "Of the holder: 1 to 128 bytes of UTF-8 without control characters. Stored sealed.",
  examples: ["reporting"],
});

export const addWrap = post(
  "indexes",
  "Lets another key open the index. Takes the owner's `index_key`, as all about wraps does.",
  done,
  {
    ...address,
    name,
    wrap_key: Type.String({
      pattern: "^[0-9a-fA-F]{64}$",
      description:
        "The holder's key: 32 bytes as 64 hexadecimal characters, which it then sends as `index_key`.",
    }),
    access: oneOf("read-only", "read-write"),
    expires_at: optional(
      Type.String({ maxLength: 40 }),
      "From this time on, ISO 8601 with a zone, the key opens nothing. Default: never.",
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
        provider: Type.Optional(
          Type.String({ description: "The name of the key provider that keeps the key." }),
        ),
      }),
    ),
  }),
  address,
);

export const revokeWrap = post(
  "indexes",
  "Ends the access of one key. What is written from then on takes data keys that its holder never had.",
  done,
  { ...address, name },
);
