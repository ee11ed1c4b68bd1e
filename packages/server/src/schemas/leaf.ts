/** The JSON between routers and leaves. Both are replicas of one version. */

import { createSecretKey, type KeyObject } from "node:crypto";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { SealdexError } from "sealdex/core";
import {
  base64Length,
  binaryVectors,
  checkIdText,
  compileFilter,
  decodeBinaryVectors,
  invalid,
  type ShardAddress,
  type ShardRows,
  type ShardSearch,
  yieldIfDue,
} from "sealdex/wire";
import { base64Vectors } from "./binary.js";
import { answers, closed, indexKey } from "./shapes.js";

export const leafRoute = "/v1/leaf/search";

const shardsMax = 4096;
const hexadecimal = (bytes: number) => Type.String({ pattern: `^[0-9a-f]{${2 * bytes}}$` });

const searchBody = closed({
  collection: closed({ id: hexadecimal(16), ids_key: indexKey, namespaces_key: indexKey }),
  batch: closed(base64Vectors),
  top_k: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  /** "exact", or the number of lists; absent: as many as `recall` needs. */
  lists: Type.Optional(Type.Union([Type.Literal("exact"), Type.Integer({ minimum: 1 })])),
  recall: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
  filter: Type.Optional(Type.String()),
  namespace: Type.Optional(Type.String()),
  shards: Type.Array(
    closed({
      from: Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 }),
      index_id: hexadecimal(16),
      version: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
      digest: hexadecimal(32),
      suffix: Type.Optional(hexadecimal(8)),
      keys: Type.Array(indexKey, { minItems: 1, maxItems: 2 }),
    }),
    { minItems: 1, maxItems: shardsMax },
  ),
});

/** Per shard the names of its segments, then per vector and row the position of its segment, its position there and its score. */
const foundBody = Type.Object({
  digests: Type.Array(Type.String()),
  segments: Type.Array(Type.Array(Type.String())),
  rows: Type.Array(
    Type.Array(
      Type.Array(Type.Tuple([Type.Integer({ minimum: 0 }), Type.Integer({ minimum: 0 }), Type.Number()])),
    ),
  ),
});

// Compiled: to interpret a schema takes longer than the search.
const asked = Compile(searchBody);
const found = Compile(foundBody);

/** The schema of the route. */
export const searchSchema = { hide: true, response: answers(foundBody) };

type SearchBody = Static<typeof searchBody>;
type FoundBody = Static<typeof foundBody>;

/** To be written as JSON, which omits undefined fields. */
export function encodeSearch(search: ShardSearch, shards: readonly ShardAddress[]): SearchBody {
  const { collection, vectors, topK, effort, filter, namespace } = search;
  return {
    collection: {
      id: collection.id,
      ids_key: textOf(collection.keys.id),
      namespaces_key: textOf(collection.keys.namespaceName),
    },
    batch: {
      dimension: vectors[0].length,
      vectors_b64: Buffer.concat(vectors.map(bytesOf)).toString("base64"),
    },
    top_k: topK,
    ...(effort === "exact" ? { lists: effort } : effort),
    filter: filter?.text,
    namespace,
    shards: shards.map(({ from, indexId, version, digest, suffix, keys }) => ({
      from,
      index_id: indexId,
      version,
      digest,
      suffix,
      keys: keys.map(textOf),
    })),
  };
}

interface AskedSearch {
  readonly search: ShardSearch;
  readonly shards: ShardAddress[];
}

/** Throws `invalid_request`. */
export async function decodeSearch(text: string): Promise<AskedSearch> {
  const body = parsed(text);
  if (!asked.Check(body)) throw invalid("body: expected a search, as routers send it");
  const { collection, batch, lists, recall, filter, namespace, shards } = body;
  if (namespace !== undefined) checkIdText(namespace, "namespace");
  return {
    search: {
      collection: {
        id: collection.id,
        keys: { id: keyOf(collection.ids_key), namespaceName: keyOf(collection.namespaces_key) },
      },
      vectors: await vectorsOf(batch),
      topK: body.top_k,
      effort: lists === "exact" ? lists : lists === undefined ? { lists, recall } : { lists },
      filter: filter === undefined ? filter : compileFilter(parsed(filter)),
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

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function vectorsOf({ dimension, vectors_b64 }: SearchBody["batch"]): Promise<Float32Array[]> {
  const text = String(vectors_b64);
  const bytes = Buffer.from(text, "base64");
  // The decoder skips characters that are no base64.
  if (base64Length(bytes.length) !== text.length) throw invalid("batch.vectors_b64: expected base64");
  return decodeBinaryVectors({ dimension, vectors_b64: binaryVectors(new Uint8Array(bytes)) }, yieldIfDue);
}

export function encodeFound(results: readonly ShardRows[], shards: readonly ShardAddress[]): FoundBody {
  const segments = results.map((ofShard) => [...new Set(ofShard.flat().map(({ segment }) => segment))]);
  return {
    digests: shards.map(({ digest }) => digest),
    segments,
    rows: results.map((ofShard, i) =>
      ofShard.map((rows) =>
        rows.map(({ segment, row, score }) => [segments[i].indexOf(segment), row, score]),
      ),
    ),
  };
}

/** Throws `internal` unless it answers for these shards at the states that they name, and for each vector. */
export function decodeFound(
  body: unknown,
  shards: readonly ShardAddress[],
  { vectors: { length } }: ShardSearch,
): ShardRows[] {
  if (!found.Check(body)) throw refused("its response is not that of a leaf");
  const { digests, segments, rows } = body;
  const isOfShards = shards.every(({ digest }, i) => digest === digests[i] && rows.at(i)?.length === length);
  if (!isOfShards || segments.length !== shards.length || rows.length !== shards.length) {
    throw refused("it answers for other states than those that were named, or for other vectors");
  }
  return rows.map((own, i) =>
    own.map((each) =>
      each.map(([position, row, score]) => ({ segment: segments[i][position] ?? "", row, score })),
    ),
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
