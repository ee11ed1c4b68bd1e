/**
 * The names under which things are stored. docs/internals/format.md §1.
 *
 * In the configuration location: `names/<index name>/<version>` (index records) and
 * `index/<id>/manifest/<number>`. In the index location: `index/<id>/segment/<born><random>` and
 * `index/<id>/model/<born><random>`. In the anchor location: `anchors/<index name>/<generation>/<id>/<version>`.
 * Next to the manifests, of each namespace: `index/<id>/namespace/<handle>/<erasures>`, and of each group of items with a
 * secret: `index/<id>/group/<random>`. In the configuration and the index location: `orphans/<index name>/<id>/<time>`.
 *
 * An object named `index/<id>/…` lies below `index/<index name>/<id>/`: see index-folder.ts.
 *
 * Versions and numbers count down, so that the newest is the first of a list.
 *
 * An object is born at the newest version that its writer knew. This distinguishes, without a clock, the leftovers of a crashed writer
 * from objects that are still being written: see retention.ts.
 */

import { randomBytes } from "node:crypto";
import { SealdexError } from "../../errors.js";
import { type Check, checkStored, integer, matching, Misfit } from "../../checks/stored-json.js";

const numberMax = Number.MAX_SAFE_INTEGER;
const numberDigits = 16;
/** In the order of ASCII, so that encoded names are in the order of the names. */
const base32 = "0123456789abcdefghijklmnopqrstuv";
const indexNameBytesMax = 128;
const randomNameBytes = 16;

export const namesPrefix = "names/";

/** Throws `invalid_request` unless `name` may name an index. */
export function checkIndexName(name: unknown): asserts name is string {
  if (typeof name !== "string") {
    throw new SealdexError("invalid_request", `indexName: expected a string, got ${typeof name}`);
  }
  if (isIndexName(name)) return;
  const bytes = Buffer.byteLength(name, "utf8");
  throw new SealdexError(
    "invalid_request",
    bytes === 0 || bytes > indexNameBytesMax
      ? `indexName: expected 1 to ${indexNameBytesMax} bytes, got ${bytes}`
      : "indexName: expected no control characters or lone surrogates",
  );
}

/** Whether it is a name that people may give: 1 to 128 bytes, nothing that a terminal would not show. */
export function isIndexName(name: string): boolean {
  const bytes = Buffer.byteLength(name, "utf8");
  return bytes > 0 && bytes <= indexNameBytesMax && !/[\p{Cc}\p{Cs}]/u.test(name);
}

/** The name of a shard, which no caller can give to an index and none is shown. */
export function shardName(
  collectionId: Uint8Array,
  { from, suffix = "" }: { readonly from: number; readonly suffix?: string },
): string {
  return `\0${Buffer.from(collectionId).toString("hex")}${from.toString(16).padStart(8, "0")}${suffix}`;
}

/** The prefixes of all records and all objects of the shards that were ever made for a collection. */
export function shardPrefixes(collectionId: Uint8Array): string[] {
  const start = Buffer.from(`\0${Buffer.from(collectionId).toString("hex")}`);
  // The last digit has bits of the next byte.
  const encoded = encodeBase32(start).slice(0, Math.floor((8 * start.length) / 5));
  return [namesPrefix + encoded, indexesPrefix + encoded];
}

function isStoredName(name: string): boolean {
  return isIndexName(name) || /^\0[0-9a-f]{40}([0-9a-f]{16})?$/.test(name);
}

/** The prefix of an index's records: its name in base32hex (RFC 4648 §7, lower case, unpadded). */
export function recordPrefix(indexName: string): string {
  return `${namesPrefix}${encodeName(indexName)}/`;
}

export function recordName(indexName: string, version: number): string {
  return recordPrefix(indexName) + countDown(version);
}

/** After the records of this name and of all names before it, in the order of code points. Any text stands in for a name. */
export function afterRecords(indexName: string): string {
  // A longer text is after all names that it begins with, and so are its first bytes.
  const beginning = Buffer.from(indexName).subarray(0, indexNameBytesMax + 1);
  return indexName === "" ? namesPrefix : `${namesPrefix}${encodeBase32(beginning)}0`;
}

/** The index name in a record's key; undefined for a key among the records that is not ours. */
export function indexNameOf(key: string): string | undefined {
  const [, encoded] = /^names\/([0-9a-v]+)\/\d{16}$/.exec(key) ?? [];
  return encoded === undefined ? undefined : decodeName(encoded);
}

export function indexPrefix(indexId: Uint8Array): string {
  return `${indexesPrefix}${Buffer.from(indexId).toString("hex")}/`;
}

/** The prefix of the name of every object of every index. */
export const indexesPrefix = "index/";

/** The prefix of the keys of all indexes that have had this name. */
export function folderPrefix(indexName: string): string {
  return `${indexesPrefix}${encodeName(indexName)}/`;
}

/** An index, by its name and its id. */
export interface IndexPlace {
  readonly indexName: string;
  readonly indexId: Uint8Array;
}

/** The prefix of the marks of orphans: of indexes whose deletion, copying, or creation as a collection has begun and is not known to be complete. */
export const orphansPrefix = "orphans/";

/** The prefix of the marks of one index. */
export function orphanPrefix({ indexName, indexId }: IndexPlace): string {
  return `${orphansPrefix}${encodeName(indexName)}/${Buffer.from(indexId).toString("hex")}/`;
}

/** `since`: milliseconds since 1970. */
export function orphanName(place: IndexPlace, since: number): string {
  return orphanPrefix(place) + padded(since);
}

/** The index that a mark is of, and since when. Undefined for a key that is not ours. */
export function parseOrphanName(key: string): (IndexPlace & { readonly since: number }) | undefined {
  const [, encoded, id, since] = /^orphans\/([0-9a-v]+)\/([0-9a-f]{32})\/(\d{16})$/.exec(key) ?? [];
  const indexName = encoded === undefined ? undefined : decodeName(encoded, isStoredName);
  if (indexName === undefined) return undefined;
  return { indexName, indexId: Buffer.from(id, "hex"), since: Number(since) };
}

export function manifestPrefix(indexId: Uint8Array): string {
  return `${indexPrefix(indexId)}manifest/`;
}

export function manifestName(indexId: Uint8Array, version: number): string {
  return manifestPrefix(indexId) + countDown(version);
}

/** The prefix of the secrets of all namespaces. */
export function namespacesPrefix(indexId: Uint8Array): string {
  return `${indexPrefix(indexId)}namespace/`;
}

/** The prefix of the secrets that a namespace had. `handle`: the keyed fingerprint of its name. */
export function namespacePrefix(indexId: Uint8Array, handle: Uint8Array): string {
  return `${namespacesPrefix(indexId)}${Buffer.from(handle).toString("hex")}/`;
}

/** `erasures`: of the manifest after which the secret is drawn. */
export function namespaceName(indexId: Uint8Array, handle: Uint8Array, erasures: number): string {
  return namespacePrefix(indexId, handle) + countDown(erasures);
}

/** The prefix of the secrets of all groups of items. */
export function groupsPrefix(indexId: Uint8Array): string {
  return `${indexPrefix(indexId)}group/`;
}

/** `id`: random, hexadecimal. */
export function groupName(indexId: Uint8Array, id: string): string {
  return groupsPrefix(indexId) + id;
}

/** Instead of an index id: the index of the previous generation was deleted. */
export const deletedIndexId: Uint8Array = new Uint8Array(16);

/** The parts of an anchor's name. */
export interface AnchorNameParts {
  readonly generation: number;
  readonly indexId: Uint8Array;
  readonly version: number;
}

export function anchorPrefix(indexName: string): string {
  return `anchors/${encodeName(indexName)}/`;
}

export function anchorName(indexName: string, { generation, indexId, version }: AnchorNameParts): string {
  const id = Buffer.from(indexId).toString("hex");
  return `${anchorPrefix(indexName)}${countDown(generation)}/${id}/${countDown(version)}`;
}

/** Throws `corrupt` unless it is the name of an anchor. */
export function parseAnchorName(name: string): AnchorNameParts {
  const [, generation, id, version] =
    /^anchors\/[0-9a-v]+\/(\d{16})\/([0-9a-f]{32})\/(\d{16})$/.exec(name) ?? [];
  const parts = {
    generation: numberMax - Number(generation),
    indexId: Buffer.from(id ?? "", "hex"),
    version: numberMax - Number(version),
  };
  checkStored(`stored object ${name}`, () => {
    counter(parts.generation);
    counter(parts.version);
  });
  return parts;
}

const counter = integer(1);

export const indexObjectKinds = ["segment", "model"] as const;
export type IndexObjectKind = (typeof indexObjectKinds)[number];

export function objectPrefix(indexId: Uint8Array, kind: IndexObjectKind): string {
  return `${indexPrefix(indexId)}${kind}/`;
}

/** A new name, which reveals nothing but its kind and the version that its writer knew. */
export function newObjectName(indexId: Uint8Array, kind: IndexObjectKind, born: number): string {
  return objectPrefix(indexId, kind) + padded(born) + randomBytes(randomNameBytes).toString("hex");
}

/** A name as manifests of its index write it: `<born>-<random>`, the bytes in base64url. */
export function shortName(objectName: string): string {
  const random = Buffer.from(objectName.slice(-2 * randomNameBytes), "hex").toString("base64url");
  return `${bornAt(objectName)}-${random}`;
}

/** The last of 22 digits has 2 bits. */
const shortNames = /^(0|[1-9]\d{0,15})-[\w-]{21}[AQgw]$/;
const randomDigits = 22;

/** The name of an object of this index that was named before this version. It is stored short. */
export function shortNameCheck(indexId: Uint8Array, kind: IndexObjectKind, version: number): Check<string> {
  const prefix = objectPrefix(indexId, kind);
  const isShort = matching(shortNames, `the name of a ${kind}`);
  return (value) => {
    const short = isShort(value);
    const born = Number(short.slice(0, -randomDigits - 1));
    if (born >= version) throw new Misfit(`an object that was named before version ${version}`);
    return prefix + padded(born) + Buffer.from(short.slice(-randomDigits), "base64url").toString("hex");
  };
}

/** The kind of an object of an index, by its name. */
export function kindOf(objectName: string): string {
  return objectName.split("/")[2];
}

/** The version that the writer of an object knew when it named it. */
export function bornAt(objectName: string): number {
  const start = objectName.lastIndexOf("/") + 1;
  return Number(objectName.slice(start, start + numberDigits));
}

/** Whether a key below a prefix of records or manifests is one of theirs, not a foreign object. */
export function isNumbered(key: string, prefix: string): boolean {
  return key.startsWith(prefix) && /^\d{16}$/.test(key.slice(prefix.length));
}

/** The number that ends a record's or manifest's key. */
export function numberOf(key: string): number {
  return numberMax - Number(key.slice(-numberDigits));
}

function countDown(number: number): string {
  return padded(numberMax - number);
}

function padded(number: number): string {
  return String(number).padStart(numberDigits, "0");
}

function encodeName(indexName: string): string {
  return encodeBase32(Buffer.from(indexName, "utf8"));
}

/** Undefined if it is not the encoding of an index name. */
function decodeName(encoded: string, isName = isIndexName): string | undefined {
  const indexName = decodeBase32(encoded).toString("utf8");
  // Bytes that are not UTF-8, and bits left over, do not survive a round trip.
  return isName(indexName) && encodeName(indexName) === encoded ? indexName : undefined;
}

function encodeBase32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += base32[(value >>> (bits - 5)) & 31];
    value &= (1 << bits) - 1;
  }
  return bits > 0 ? text + base32[(value << (5 - bits)) & 31] : text;
}

function decodeBase32(text: string): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let value = 0;
  for (const letter of text) {
    value = ((value << 5) | base32.indexOf(letter)) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((value >>> bits) & 255);
    }
  }
  return Buffer.from(bytes);
}
