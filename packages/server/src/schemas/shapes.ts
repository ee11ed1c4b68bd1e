/** Building blocks of schemas. */

import { mediaType } from "sealdex/wire";
import { type TProperties, type TSchema, Type } from "typebox";

const codeDescription = "Error code, also in the header `X-Error-Code`.";
const failed = Type.Object(
  {
    status_code: Type.Integer(),
    code: Type.Optional(
      Type.String({
        description: `${codeDescription} Present if \`Accept\` has \`${mediaType}\`.`,
        examples: ["not_found"],
      }),
    ),
    detail: Type.String({ description: "Message with the place, the expected and the received value." }),
  },
  { title: "Failure" },
);
const invalidRequest = Type.Object(
  {
    detail: Type.Array(
      Type.Object({
        loc: Type.Array(Type.Union([Type.String(), Type.Integer()]), { description: "Where." }),
        msg: Type.String({ description: "Message with the expected and the received value." }),
        type: Type.String({ description: codeDescription, examples: ["invalid_request"] }),
      }),
    ),
  },
  { title: "InvalidRequest", description: `If \`Accept\` has \`${mediaType}\`, the shape of other errors.` },
);

export function optional<S extends TSchema>(schema: S, description?: string) {
  return Type.Optional(Type.Union([schema, Type.Null()], description === undefined ? {} : { description }));
}

export function oneOf<T extends string>(...values: T[]) {
  return Type.Unsafe<T>({ type: "string", enum: values });
}

export const failures = { 422: invalidRequest, default: failed };

export function answers<S extends TSchema>(schema: S) {
  return { 200: schema, ...failures };
}

/** An object without other properties, unless they are null. */
export function closed<P extends TProperties>(properties: P, options: { readonly title?: string } = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** Fields that other clients send and that change no result here. */
export function ignored<N extends string>(...names: N[]) {
  const schema = Type.Optional(Type.Unknown({ deprecated: true, description: "Accepted, and ignored." }));
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<N, typeof schema>;
}

/** Fields that other clients may send and that must not be ignored. */
export function unsupported<N extends string>(...names: N[]) {
  const schema = Type.Optional(Type.Unsafe<undefined>({ type: "null", deprecated: true }));
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<N, typeof schema>;
}

/** Page size of a list, in the query string. */
export const pageLimit = Type.Optional(
  Type.String({
    pattern: "^[0-9]{1,9}$",
    description: "Maximum number. Default: all that fit into one response.",
  }),
);

/** Limit of field names, for each of them once or twice. */
export const fieldsMax = 16;

/** For arrays with one entry per item: the setting that limits them. */
export const limitedItems = { "x-limited-by": "SEALDEX_ITEMS_MAX" };

export const done = Type.Object(
  { status: Type.String({ examples: ["success"] }), message: Type.String() },
  { title: "Done" },
);

export const indexKey = Type.String({
  pattern: "^[0-9a-fA-F]{64}$",
  description:
    "An encryption key: 32 bytes as 64 hexadecimal characters. Optional if the service has a key provider.",
});

export const address = {
  index_name: Type.String({ description: "1 to 128 bytes of UTF-8.", examples: ["articles"] }),
  index_key: indexKey,
};

/** A request about the index that its body names, with the other fields of the body. */
export function post<S extends TSchema, P extends TProperties>(
  tag: string,
  summary: string,
  answer: S,
  body: P,
) {
  return { tags: [tag], summary, body: closed({ ...address, ...body }), response: answers(answer) };
}
