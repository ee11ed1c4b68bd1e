/** The JSON between routers and leaves. Both are replicas of one version. */

import { createSecretKey, type KeyObject } from "node:crypto";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { SealdexError } from "sealdex/core";
import { invalid, type ShardAddress, type ShardRow, type ShardSearch, topKMax } from "sealdex/wire";
import { answers, closed, indexKey } from "./shapes.js";

export const leafRoute = "/v1/leaf/search";

const shardsMax = 4096;
const hexadecimal = (bytes: number) => Type.String({ pattern: `^[0-9a-f]{${2 * bytes}}$` });

const searchBody = closed({
  collection: closed({ id: hexadecimal(16), ids_key: indexKey, namespaces_key: indexKey }),
  vector_b64: Type.String(),
  top_k: Type.Integer({ minimum: 1, maximum: topKMax }),
  /** "exact", or the number of lists; absent: as many as `recall` needs. */
  lists: Type.Optional(Type.Union([Type.Literal("exact"), Type.Integer({ minimum: 1 })])),
  recall: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
  filter: Type.Optional(Type.String()),
  namespace: Type.Optional(Type.String()),
  shards: Type.Array(
    closed({
      from: Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 }),
      index_id: hexadecimal(16),
      version: Type.Integer({ minimum: 1 }),
      digest: hexadecimal(32),
      suffix: Type.Optional(hexadecimal(8)),
      keys: Type.Array(indexKey, { minItems: 1, maxItems: 2 }),
    }),
    { minItems: 1, maxItems: shardsMax },
  ),
});

/** Per shard the names of its segments, then per row the position of its segment, its position there and its score. */
const foundBody = Type.Object({
  digests: Type.Array(Type.String()),
  segments: Type.Array(Type.Array(Type.String())),
  rows: Type.Array(
    Type.Array(Type.Tuple([Type.Integer({ minimum: 0 }), Type.Integer({ minimum: 0 }), Type.Number()])),
  ),
});

// Compiled: to interpret a schema takes longer than the search.
const asked = Compile(searchBody);
const found = Compile(foundBody);

/** The schema of the route. */
export const searchSchema = { hide: true, response: answers(foundBody) };

type SearchBody = Static<typeof searchBody>;
type FoundBody = Static<typeof foundBody>;

export function encodeSearch(search: ShardSearch, shards: readonly ShardAddress[]): SearchBody {
  const { collection, vector, topK, effort, filter, namespace } = search;
  return {
    collection: {
      id: collection.id,
      ids_key: textOf(collection.keys.id),
      namespaces_key: textOf(collection.keys.namespaceName),
    },
    vector_b64: Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64"),
    top_k: topK,
    ...(effort === "exact"
      ? { lists: effort }
      : { ...(effort.lists !== undefined && { lists: effort.lists }), ...recallOf(effort) }),
    ...(filter !== undefined && { filter }),
    ...(namespace !== undefined && { namespace }),
    shards: shards.map(({ from, indexId, version, digest, suffix, keys }) => ({
      from,
      index_id: indexId,
      version,
      digest,
      ...(suffix !== undefined && { suffix }),
      keys: keys.map(textOf),
    })),
  };
}

function recallOf(effort: Exclude<ShardSearch["effort"], "exact">) {
  return effort.lists === undefined && effort.recall !== undefined ? { recall: effort.recall } : {};
}

interface AskedSearch {
  readonly search: ShardSearch;
  readonly shards: ShardAddress[];
}

/** Throws `invalid_request`. */
export function decodeSearch(text: string): AskedSearch {
  const body = parsed(text);
  if (!asked.Check(body)) throw invalid("body: expected a search, as routers send it");
  const { collection, lists, recall, filter, namespace, shards } = body;
  const bytes = Buffer.from(body.vector_b64, "base64");
  return {
    search: {
      collection: {
        id: collection.id,
        keys: { id: keyOf(collection.ids_key), namespaceName: keyOf(collection.namespaces_key) },
      },
      vector: new Float32Array(new Uint8Array(bytes).buffer),
      topK: body.top_k,
      effort: lists === "exact" ? lists : lists === undefined ? { lists, recall } : { lists },
      filter,
      namespace,
    },
    shards: shards.map(({ from, index_id: indexId, version, digest, suffix, keys }) => ({
      from,
      indexId,
      version,
      digest,
      ...(suffix !== undefined && { suffix }),
      keys: keys.map(keyOf),
    })),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Its message may quote keys.
    return undefined;
  }
}

export function encodeFound(
  results: readonly (readonly ShardRow[])[],
  shards: readonly ShardAddress[],
): FoundBody {
  const segments = results.map((rows) => [...new Set(rows.map(({ segment }) => segment))]);
  return {
    digests: shards.map(({ digest }) => digest),
    segments,
    rows: results.map((rows, i) =>
      rows.map(({ segment, row, score }) => [segments[i].indexOf(segment), row, score]),
    ),
  };
}

/** Throws `internal` unless it answers for these shards at the states that they name. */
export function decodeFound(body: unknown, shards: readonly ShardAddress[]): ShardRow[][] {
  if (!found.Check(body)) throw refused("its response is not that of a leaf");
  const { digests, segments, rows } = body;
  const isOfShards = shards.every(({ digest }, i) => digest === digests[i]);
  if (!isOfShards || segments.length !== shards.length || rows.length !== shards.length) {
    throw refused("it answers for other states than those that were named");
  }
  return rows.map((own, i) =>
    own.map(([position, row, score]) => ({ segment: segments[i][position] ?? "", row, score })),
  );
}

function refused(what: string): SealdexError {
  return new SealdexError("internal", `leaf: ${what}`);
}

function textOf(key: KeyObject): string {
  return key.export().toString("hex");
}

function keyOf(text: string): KeyObject {
  return createSecretKey(text, "hex");
}
