/** Shapes for issuing, listing and revoking API keys, and their responses from records. */

import { type Static, Type } from "typebox";
import { type KeyDetails, type KeyRecord, keyNameLengthMax } from "../access/key-record.js";
import { scopes } from "../access/caller.js";
import { answers, closed, done, failures, indexKey, oneOf, optional, pageLimit } from "./shapes.js";

const indexesMax = 1000;
const permission = oneOf("read", "write");
const shownOnce = "Cannot be shown again.";

const keyFields = {
  id: Type.String({ examples: ["6f1c0d9be0a4c3d2"] }),
  name: Type.String(),
  scopes: Type.Array(oneOf(...scopes)),
  indexes: Type.Optional(Type.Array(Type.String(), { description: "The only indexes it may be used for." })),
  created_at: Type.Integer({ description: "Milliseconds since 1970." }),
  expires_at: Type.Optional(Type.Integer({ description: "Milliseconds since 1970." })),
};

const keyPage = closed({
  limit: pageLimit,
  after: Type.Optional(
    Type.String({ pattern: "^[0-9a-f]{16}$", description: "Only those with an id after this one." }),
  ),
});

export const createKey = {
  operationId: "create_key",
  tags: ["keys"],
  summary: "Issues an API key.",
  body: closed({
    name: Type.String({ minLength: 1, maxLength: keyNameLengthMax }),
    scopes: Type.Array(oneOf(...scopes), { maxItems: scopes.length }),
    indexes: optional(
      Type.Array(Type.String(), { maxItems: indexesMax }),
      "The only indexes it may be used for. Default: all.",
    ),
    expires_at: optional(Type.Integer(), "Milliseconds since 1970. Default: never."),
  }),
  response: answers(Type.Object({ api_key: Type.String({ description: shownOnce }), ...keyFields })),
};

export const listKeys = {
  operationId: "list_keys",
  tags: ["keys"],
  summary: "Issued API keys without their secrets, in the order of their ids.",
  querystring: keyPage,
  response: answers(
    Type.Object({
      keys: Type.Array(
        Type.Object({
          ...keyFields,
          last_used_at: Type.Optional(
            Type.Integer({
              description: "Milliseconds since 1970; up to 10 minutes old if other processes were used.",
            }),
          ),
        }),
      ),
    }),
  ),
};

export const revokeKey = {
  operationId: "revoke_key",
  tags: ["keys"],
  summary: "Revokes an API key. Every process of the service refuses it after at most 10 seconds.",
  params: Type.Object({ id: Type.String() }),
  response: answers(done),
};

const userParams = Type.Object({ name: Type.String({ description: "The index." }) });
const userHeaders = Type.Object({ "x-index-key": Type.Optional(indexKey) });

export const createUser = {
  operationId: "create_user",
  tags: ["users"],
  summary: "Issues an API key for one index.",
  params: userParams,
  body: closed({
    permissions: Type.Array(permission, { maxItems: 2 }),
    index_key: optional(indexKey, "If given, it must open the index."),
  }),
  response: answers(
    Type.Object({ user_id: Type.String(), api_key: Type.String({ description: shownOnce }) }),
  ),
};

export const listUsers = {
  operationId: "list_users",
  tags: ["users"],
  summary: "Issued API keys for this index only, in the order of their ids.",
  params: userParams,
  querystring: keyPage,
  headers: userHeaders,
  response: answers(
    Type.Object({
      users: Type.Array(Type.Object({ user_id: Type.String(), permissions: Type.Array(permission) })),
    }),
  ),
};

export const deleteUser = {
  operationId: "delete_user",
  tags: ["users"],
  summary: "Revokes an API key for this index only.",
  params: Type.Object({ ...userParams.properties, id: Type.String() }),
  headers: userHeaders,
  response: { ...failures, 204: Type.Null() },
};

export function decodeKey({ name, scopes: granted, indexes, expires_at: expiresAt }: KeyBody): KeyDetails {
  return {
    name,
    scopes: granted,
    ...(indexes && { indexes }),
    ...(typeof expiresAt === "number" && { expiresAt }),
  };
}

type KeyBody = Static<typeof createKey.body>;

export function encodeKey({ id, name, scopes: granted, indexes, createdAt, expiresAt }: KeyRecord) {
  return {
    id,
    name,
    scopes: [...granted],
    ...(indexes && { indexes: [...indexes] }),
    created_at: createdAt,
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  };
}

export function encodeUsedKey(record: KeyRecord, lastUsedAt: number | undefined) {
  return { ...encodeKey(record), ...(lastUsedAt !== undefined && { last_used_at: lastUsedAt }) };
}

export function encodeNewKey(apiKey: string, record: KeyRecord) {
  return { api_key: apiKey, ...encodeKey(record) };
}

export function encodeNewUser(apiKey: string, { id }: KeyRecord) {
  return { user_id: id, api_key: apiKey };
}

export function decodeUser(body: Static<typeof createUser.body>) {
  return { scopes: body.permissions, indexKey: body.index_key };
}

export function encodeUser({ id, scopes: granted }: KeyRecord) {
  return { user_id: id, permissions: granted.filter((scope) => scope !== "admin") };
}
