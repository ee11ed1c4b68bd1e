/**
 * Stored manifests: sealed, signed JSON, with the members of segments in columns. Every commit writes
 * the whole manifest, so an index with thousands of namespaces needs short ones.
 * docs/internals/format.md §5.
 */

import { createHash } from "node:crypto";
import {
  generationOf,
  headerBytes,
  headerOf,
  openObject,
  pinBytes,
  pinOf,
  sealObject,
  tagBytes,
} from "../../crypto/sealed-object.js";
import { keyBytes, secretKey } from "../../crypto/keys.js";
import { signatureBytes } from "../../crypto/signing.js";
import { dimensionMax, shardsMax } from "../../engine/config.js";
import { SealdexError } from "../../errors.js";
import type { KeyRing } from "../../keys/key-ring.js";
import { generationMax } from "../../keys/keyset.js";
import {
  base64,
  type Check,
  columns,
  countMax,
  flag,
  hexadecimal,
  integer,
  listOf,
  matching,
  Misfit,
  oneOf,
  optional,
  parseStored,
  real,
  record,
} from "../../checks/stored-json.js";
import {
  generationOfRef,
  type Manifest,
  type ModelRef,
  objectRefs,
  type ObjectRef,
  type SegmentRef,
  type Reservation,
  reservationMsMax,
  type ShardRef,
  type SpareShard,
} from "./manifest.js";
import {
  type IndexObjectKind,
  indexObjectKinds,
  kindOf,
  manifestName,
  shortName,
  shortNameCheck,
} from "./object-names.js";
import { checkObjectLength } from "./read-object.js";
import { watermarkOf } from "./retention.js";
import { own } from "../../checks/value-kinds.js";

/** A reference whose name is short, and whose header is generation and pin. */
type Stored<T extends ObjectRef> = Omit<T, "header"> & {
  readonly generation: number;
  readonly pin: string;
};

/** `namespace` and `model` are places in lists of the manifest. */
type StoredSegment = Omit<Stored<SegmentRef>, "namespace" | "model"> & {
  readonly namespace?: number;
  readonly model?: number;
};

const digestBytes = 32;
const shardIdBytes = 16;
const shardSuffixBytes = 8;

interface StoredManifest extends Omit<Manifest, "model" | "segments" | "shardSecrets"> {
  /** In base64. */
  readonly shardSecrets?: readonly string[];
  readonly model?: Stored<ModelRef>;
  /** Those of segments, each once, in the order of its first segment. */
  readonly namespaces?: readonly string[];
  readonly models?: readonly string[];
  readonly segments: readonly StoredSegment[];
}

/** Entries of the id table, of which each row and each tombstone has one, are the least that these take of a segment. */
const entryBytes = 20;
const rowCount = integer(0, 2 ** 32 - 2);
/** See namespaces.ts. */
const namespaceId = /^[0-9a-f]{32}-(0|[1-9]\d{0,15})-[0-9a-f]{32}$/;

const segmentColumns = [
  "name",
  "generation",
  "pin",
  "length",
  "sequence",
  "rows",
  "deleted",
  "blocks",
  "footerLength",
  "namespace",
  "model",
] as const satisfies readonly (keyof StoredSegment)[];

const shardColumns = [
  "from",
  "indexId",
  "version",
  "digest",
  "suffix",
  "retired",
] as const satisfies readonly (keyof SpareShard)[];

/** The value that its JSON text is made from. */
export function encodeManifest(manifest: Manifest): object {
  const { model, segments, droppedObjects } = manifest;
  const namespaces = placesOf(segments, "namespace");
  const models = placesOf(segments, "model");
  const stored = segments.map((ref) => ({
    ...storedRef(ref),
    namespace: ref.namespace && namespaces.get(ref.namespace),
    model: ref.model && models.get(ref.model),
  }));
  const { shards, spareShards, shardSecrets } = manifest;
  return {
    ...manifest,
    shards: shards && inColumns<SpareShard>(shards, shardColumns),
    spareShards: spareShards && inColumns(spareShards, shardColumns),
    shardSecrets: shardSecrets?.map((secret) => secret.export().toString("base64")),
    model: model && storedRef(model),
    namespaces: namespaces.size === 0 ? undefined : [...namespaces.keys()],
    models: models.size === 0 ? undefined : Array.from(models.keys(), shortName),
    segments: inColumns(stored, segmentColumns),
    droppedObjects: droppedObjects.map((name) => `${kindOf(name)}/${shortName(name)}`),
  };
}

/** See `columns`. */
function inColumns<T>(things: readonly T[], names: readonly (keyof T & string)[]): object {
  const used = names.filter((name) => things.some((thing) => thing[name] !== undefined));
  return Object.fromEntries(used.map((name) => [name, things.map((thing) => thing[name] ?? null)]));
}

/** The distinct values of `member` in the order of segments, each with its place in the list. */
function placesOf(segments: readonly SegmentRef[], member: "namespace" | "model"): Map<string, number> {
  const places = new Map<string, number>();
  for (const { [member]: value } of segments) {
    if (value !== undefined && !places.has(value)) places.set(value, places.size);
  }
  return places;
}

function storedRef<T extends ObjectRef>({ header, ...ref }: T) {
  const pin = Buffer.from(pinOf(Buffer.from(header, "base64"))).toString("base64");
  return { ...ref, name: shortName(ref.name), generation: generationOfRef({ header }), pin };
}

/** Checks that a manifest names objects of its own index only, and that all its numbers are in range. */
function manifestCheck(indexId: Uint8Array, version: number, generation: number): Check<Manifest> {
  const check = storedCheck(indexId, version, generation);
  return (value) => {
    const { model, namespaces, models, segments: stored, shardSecrets: secrets, ...rest } = check(value);
    const segments = stored.map(({ namespace, model: grouping, ...ref }, i) =>
      own({
        ...refOf("segment", ref),
        ...(namespace !== undefined && {
          namespace: listed(namespaces, namespace, `.segments.namespace[${i}]`),
        }),
        ...(grouping !== undefined && { model: listed(models, grouping, `.segments.model[${i}]`) }),
      }),
    );
    const manifest: Manifest = own({
      ...rest,
      // Outside of the heap, as all keys.
      ...(secrets && { shardSecrets: secrets.map((secret) => secretKey(Buffer.from(secret, "base64"))) }),
      ...(model && { model: refOf("model", model) }),
      segments,
    });
    segments.forEach((ref, i) => checkSegment(ref, segments[i - 1]?.sequence ?? 1, i));
    checkList(namespaces, placesOf(segments, "namespace"), ".namespaces");
    checkList(models, placesOf(segments, "model"), ".models");
    checkNamespaces(manifest);
    checkShards(manifest);
    const names = [...objectRefs(manifest).map(({ name }) => name), ...manifest.droppedObjects];
    if (new Set(names).size < names.length) throw new Misfit("each object to be named, or dropped, once");
    return manifest;
  };
}

function storedCheck(indexId: Uint8Array, version: number, generation: number): Check<StoredManifest> {
  const nameOf = (kind: IndexObjectKind) => shortNameCheck(indexId, kind, version);
  const pinned = (kind: IndexObjectKind) => ({
    name: nameOf(kind),
    generation: integer(1, generationMax),
    pin: base64(pinBytes),
    length: integer(headerBytes + tagBytes),
  });
  const segments = columns<StoredSegment>({
    ...pinned("segment"),
    sequence: integer(1),
    rows: rowCount,
    deleted: rowCount,
    blocks: integer(1, 2 ** 32),
    footerLength: integer(tagBytes),
    namespace: optional(integer(0)),
    model: optional(integer(0)),
  });
  return record<StoredManifest>({
    version: integer(version, Math.min(version, countMax)),
    previous: version === 1 ? oneOf("") : hexadecimal(32),
    keyGeneration: oneOf(generation),
    dropped: flag,
    dimension: optional(integer(1, dimensionMax)),
    model: optional(record<Stored<ModelRef>>({ ...pinned("model"), items: integer(1) })),
    namespaces: optional(listOf(matching(namespaceId, "the id of a namespace"), 1)),
    models: optional(listOf(nameOf("model"), 1)),
    segments,
    droppedObjects: listOf(droppedName(nameOf)),
    history: watermarkOf(version),
    uploads: watermarkOf(version),
    erasures: optional(integer(1)),
    reservation: optional(record<Reservation>({ holder: hexadecimal(16), ms: real(0, reservationMsMax) })),
    shards: optional(columns<ShardRef>(shardShape)),
    spareShards: optional(columns<SpareShard>({ ...shardShape, retired: optional(integer(0, version)) })),
    shardSecrets: optional(listOf(base64(keyBytes), 1, 2)),
  });
}

const shardShape = {
  from: integer(0, 2 ** 32 - 1),
  indexId: hexadecimal(shardIdBytes),
  version: integer(1),
  digest: hexadecimal(digestBytes),
  suffix: optional(hexadecimal(shardSuffixBytes)),
};

/** A short name after its kind. */
function droppedName(nameOf: (kind: IndexObjectKind) => Check<string>): Check<string> {
  const checks = indexObjectKinds.map((kind) => ({ prefix: `${kind}/`, check: nameOf(kind) }));
  return (value) => {
    const kind =
      typeof value === "string" ? checks.find(({ prefix }) => value.startsWith(prefix)) : undefined;
    if (kind === undefined) throw new Misfit(`the name of a ${indexObjectKinds.join(" or ")}`);
    return kind.check((value as string).slice(kind.prefix.length));
  };
}

function refOf<T extends Stored<ObjectRef>>(kind: IndexObjectKind, { generation, pin, ...ref }: T) {
  const header = headerOf(kind, generation, Buffer.from(pin, "base64"));
  return { ...ref, header: Buffer.from(header).toString("base64") };
}

function listed(list: readonly string[] = [], place: number, at: string): string {
  if (place < list.length) return list[place];
  throw new Misfit(`a place below ${list.length}, got ${place}`, at);
}

function checkList(list: readonly string[] = [], used: ReadonlyMap<string, number>, at: string): void {
  if (list.length !== used.size || list.some((value, place) => used.get(value) !== place))
    throw new Misfit("those of segments, each once, in their order", at);
}

/** Each name has one secret, drawn no later than the manifest was made. */
function checkNamespaces({ segments, erasures = 0 }: Manifest): void {
  const known = new Map<string, string>();
  segments.forEach(({ namespace }, i) => {
    if (namespace === undefined) return;
    const [handle, drawnAt] = namespace.split("-");
    if (Number(drawnAt) > erasures || (known.get(handle) ?? namespace) !== namespace)
      throw new Misfit("one id for each namespace, of its last erasure", `.segments.namespace[${i}]`);
    known.set(handle, namespace);
  });
}

/** A collection has shards, whose ranges are all of the hashes, and no segments. */
function checkShards({ shards, spareShards, shardSecrets, segments, model }: Manifest): void {
  if ((shards === undefined) !== (shardSecrets === undefined))
    throw new Misfit("shards and their secrets, or neither", ".shardSecrets");
  if (shards === undefined) {
    if (spareShards !== undefined) throw new Misfit("none without shards", ".spareShards");
    return;
  }
  if (shards.length === 0 || shards.length > shardsMax)
    throw new Misfit(`1 to ${shardsMax} of them, got ${shards.length}`, ".shards");
  if (segments.length > 0 || model !== undefined) throw new Misfit("none beside shards", ".segments");
  shards.forEach(({ from }, i) => {
    const isNext = i === 0 ? from === 0 : from > shards[i - 1].from;
    if (!isNext) throw new Misfit("ascending from 0", `.shards.from[${i}]`);
  });
  if (spareShards?.length === 0) throw new Misfit("one at least, or no list", ".spareShards");
  const all = [...shards, ...(spareShards ?? [])];
  if (new Set(all.map(({ indexId }) => indexId)).size < all.length)
    throw new Misfit("each shard once", ".shards.indexId");
}

/** Checks members against one another. */
function checkSegment(ref: SegmentRef, sequenceMin: number, place: number): void {
  const { length, rows, deleted, blocks, footerLength, sequence } = ref;
  const between = (name: string, value: number, min: number, max: number) => {
    if (value < min || value > max)
      throw new Misfit(`${min} to ${max}, got ${value}`, `.segments.${name}[${place}]`);
  };
  between("sequence", sequence, sequenceMin, Infinity);
  between("footerLength", footerLength, 0, length - headerBytes);
  between("blocks", blocks, 0, length / tagBytes);
  between("rows", rows + deleted, 0, length / entryBytes);
}

/** A manifest as stored, and its digest. */
export interface SealedManifest {
  readonly manifest: Manifest;
  readonly bytes: Uint8Array;
  readonly digest: string;
}

/** Seals and signs it with the keys of its generation. Throws `forbidden` if they are a reader's. */
export function sealManifest(keys: KeyRing, indexId: Uint8Array, draft: Manifest): SealedManifest {
  // As `openManifest` returns it.
  const manifest = own({ ...draft, segments: draft.segments.map(own) });
  const generation = manifest.keyGeneration;
  const text = Buffer.from(JSON.stringify(encodeManifest(manifest)), "utf8");
  const signature = keys.sign(signatureLabel, signedMessage(indexId, text), generation);
  const context = manifestContext(indexId, manifest.version);
  const parents = { generation, key: keys.data.key };
  const sealed = sealObject(parents, context, Buffer.concat([signature, text]));
  const bytes = checkObjectLength("manifest", "manifest", sealed);
  return { manifest, bytes, digest: digestOf(bytes) };
}

/** Throws `corrupt` unless `bytes` are this index's manifest of this version, committed by a writer. */
export function openManifest(
  keys: KeyRing,
  indexId: Uint8Array,
  version: number,
  bytes: Uint8Array,
): SealedManifest {
  const plaintext = openObject(keys.data, manifestContext(indexId, version), bytes);
  const [signature, text] = [plaintext.subarray(0, signatureBytes), plaintext.subarray(signatureBytes)];
  const generation = generationOf(bytes);
  if (!keys.isSigned(generation, signatureLabel, signedMessage(indexId, text), signature)) {
    throw new SealdexError("corrupt", `manifest ${version}: it was not committed by a writer of this index`);
  }
  const manifest = parseStored(text, `manifest ${version}`, manifestCheck(indexId, version, generation));
  return { manifest, bytes, digest: digestOf(bytes) };
}

const signatureLabel = "sealdex/1/manifest";

function signedMessage(indexId: Uint8Array, text: Uint8Array): Uint8Array {
  return Buffer.concat([indexId, text]);
}

function manifestContext(indexId: Uint8Array, version: number) {
  return { kind: "manifest", indexId, name: manifestName(indexId, version) } as const;
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
