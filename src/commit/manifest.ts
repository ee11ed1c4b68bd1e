/**
 * Manifests: the whole state of an index as a short sealed list. docs/internals/format.md §5.
 *
 * Manifest n + 1 follows manifest n; creating it is the one atomic step of every change. Each holds the digest
 * of the one before it, so manifests of different histories cannot be mixed.
 */

import { createHash } from "node:crypto";
import { generationOf, headerBytes, openObject, sealObject, tagBytes } from "../crypto/sealed-object.js";
import { signatureBytes } from "../crypto/signing.js";
import { dimensionMax } from "../engine/config.js";
import { SealdexError } from "../errors.js";
import type { KeyRing } from "../keys/key-ring.js";
import { checkObjectLength } from "./read-object.js";
import {
  base64,
  type Check,
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
} from "../stored-json.js";
import { type Watermark, firstWatermark, watermarkOf } from "./retention.js";
import { bornAt, indexObjectKinds, manifestName, objectNameCheck } from "./object-names.js";

/** Pins a stored object: no other object passes for it. */
export interface ObjectRef {
  readonly name: string;
  /** The object's 76-byte header, base64. */
  readonly header: string;
  /** Bytes. */
  readonly length: number;
}

export interface SegmentRef extends ObjectRef {
  /**
   * Greater than that of every segment committed before. A row shadows rows of the same id in segments of lower
   * sequence; segments of equal sequence have no id in common.
   */
  readonly sequence: number;
  readonly rows: number;
  readonly deleted: number;
  readonly blocks: number;
  readonly footerLength: number;
  /** The id of the namespace that its items belong to, see namespaces.ts; absent: none. */
  readonly namespace?: string;
  /** Name of the model by whose lists the rows are grouped; absent: one list. */
  readonly model?: string;
}

export interface ModelRef extends ObjectRef {
  /** Items that there were when it was trained. */
  readonly items: number;
}

export interface Manifest {
  /** 1 for a new index. */
  readonly version: number;
  /** SHA-256 of the sealed manifest before this one, hexadecimal; empty for version 1. */
  readonly previous: string;
  /** The generation of the keys that seal and sign it. It never decreases: the commit that increases it brings new keys into force. */
  readonly keyGeneration: number;
  /** The index was deleted: none of its objects exist any more. */
  readonly dropped: boolean;
  /** Undefined until the first vector determines it. */
  readonly dimension?: number;
  /** The model of new segments. Absent: untrained. */
  readonly model?: ModelRef;
  /** Ascending by sequence. */
  readonly segments: readonly SegmentRef[];
  /** Names of the objects that the previous version named and this one does not. */
  readonly droppedObjects: readonly string[];
  /** Manifests below the floor may be gone. */
  readonly history: Watermark;
  /** Objects born below the floor (see object-names.ts) that no version names yet will never be named. */
  readonly uploads: Watermark;
  /** How many namespaces were erased. Absent: none. */
  readonly erasures?: number;
  /** The next commit is promised to a change; see `ManifestLog.claimTurn`. */
  readonly turn?: Turn;
}

/** A promise of the next commit. It keeps no writer from committing: it only asks them to wait. */
export interface Turn {
  /** 16 random bytes, hexadecimal. */
  readonly holder: string;
  /** How long others wait for it, milliseconds. */
  readonly ms: number;
}

/** The longest that a change may ask others to wait for it, in milliseconds. */
export const turnMsMax = 10_000;
/** What a row or a tombstone takes of a segment, at the least: its entry in the id table. */
const entryBytes = 20;
const rowCount = integer(0, 2 ** 32 - 2);
/** See namespaces.ts. */
const namespaceId = /^[0-9a-f]{32}-(0|[1-9]\d{0,15})-[0-9a-f]{32}$/;

/** What a manifest may say: it names objects of its own index alone, and no number leads beyond what there is. */
function manifestShape(indexId: Uint8Array, version: number, generation: number): Check<Manifest> {
  const pinned = { header: base64(headerBytes), length: integer(headerBytes + tagBytes) };
  const modelName = objectNameCheck(indexId, ["model"], version);
  const model = record<ModelRef>({ name: modelName, ...pinned, items: integer(1) });
  const segment = record<SegmentRef>({
    name: objectNameCheck(indexId, ["segment"], version),
    ...pinned,
    sequence: integer(1),
    rows: rowCount,
    deleted: rowCount,
    blocks: integer(1, 2 ** 32),
    footerLength: integer(tagBytes),
    namespace: optional(matching(namespaceId, "the id of a namespace")),
    model: optional(modelName),
  });
  const check = record<Manifest>({
    version: integer(version, Math.min(version, countMax)),
    previous: version === 1 ? oneOf("") : hexadecimal(32),
    keyGeneration: oneOf(generation),
    dropped: flag,
    dimension: optional(integer(1, dimensionMax)),
    model: optional(model),
    segments: listOf(segment),
    droppedObjects: listOf(objectNameCheck(indexId, indexObjectKinds, version)),
    history: watermarkOf(version),
    uploads: watermarkOf(version),
    erasures: optional(integer(1)),
    turn: optional(record<Turn>({ holder: hexadecimal(16), ms: real(0, turnMsMax) })),
  });
  return (value) => {
    const manifest = check(value);
    const { segments, droppedObjects } = manifest;
    segments.forEach((ref, i) => checkSegment(ref, segments[i - 1]?.sequence ?? 1, `.segments[${i}]`));
    checkNamespaces(manifest);
    const names = objectRefs(manifest).map(({ name }) => name);
    if (new Set([...names, ...droppedObjects]).size < names.length + droppedObjects.length)
      throw new Misfit("each object to be named, or dropped, once");
    return manifest;
  };
}

/** Each name has one secret, drawn no later than the manifest was made. */
function checkNamespaces({ segments, erasures = 0 }: Manifest): void {
  const known = new Map<string, string>();
  segments.forEach(({ namespace }, i) => {
    if (namespace === undefined) return;
    const [handle, drawnAt] = namespace.split("-");
    if (Number(drawnAt) > erasures || (known.get(handle) ?? namespace) !== namespace)
      throw new Misfit("one id for each namespace, of its last erasure", `.segments[${i}].namespace`);
    known.set(handle, namespace);
  });
}

/** What its members say of one another. */
function checkSegment(ref: SegmentRef, sequenceMin: number, at: string): void {
  const { length, rows, deleted, blocks, footerLength, sequence } = ref;
  const between = (name: string, value: number, min: number, max: number) => {
    if (value < min || value > max) throw new Misfit(`${min} to ${max}, got ${value}`, `${at}.${name}`);
  };
  between("sequence", sequence, sequenceMin, Infinity);
  between("footerLength", footerLength, 0, length - headerBytes);
  between("blocks", blocks, 0, length / tagBytes);
  between("rows", rows + deleted, 0, length / entryBytes);
}

/** Version 1 of a new index. */
export function emptyManifest(now: number): Manifest {
  return {
    version: 1,
    previous: "",
    keyGeneration: 1,
    dropped: false,
    segments: [],
    droppedObjects: [],
    history: firstWatermark(now),
    uploads: firstWatermark(now),
  };
}

/** All objects that a manifest names. */
export function objectRefs({ model, segments }: Manifest): readonly ObjectRef[] {
  return model === undefined ? segments : [model, ...segments];
}

/** The number of items in no namespace, from which trainings learn, with those that newer ones replaced. */
export function rowsAtMost({ segments }: Manifest): number {
  const unnamed = segments.filter(({ namespace }) => namespace === undefined);
  return unnamed.reduce((sum, { rows, deleted }) => sum + rows - deleted, 0);
}

/** The generation of the key that an object was sealed under. */
export function generationOfRef({ header }: Pick<ObjectRef, "header">): number {
  return generationOf(Buffer.from(header, "base64"));
}

/** Names of the objects that make up this version. */
export function namedObjects(manifest: Manifest): Set<string> {
  return new Set(objectRefs(manifest).map(({ name }) => name));
}

/** What `before` names and `committed`, the manifest after it, dropped. */
export function objectsDropped(before: Manifest, committed: Manifest): readonly ObjectRef[] {
  if (committed.droppedObjects.length === 0) return [];
  const names = new Set(committed.droppedObjects);
  return objectRefs(before).filter(({ name }) => names.has(name));
}

/** Whether segments of this namespace are part of the index. */
export function namesNamespace({ segments }: Pick<Manifest, "segments">, id: string): boolean {
  return segments.some(({ namespace }) => namespace === id);
}

/** Things of segments, by their namespaces. Segments of different namespaces have no item in common. */
export function byNamespace<T>(
  things: readonly T[],
  refOf: (thing: T) => Pick<SegmentRef, "namespace">,
): T[][] {
  const groups = new Map<string | undefined, T[]>();
  for (const thing of things) {
    const { namespace } = refOf(thing);
    const group = groups.get(namespace);
    if (group === undefined) groups.set(namespace, [thing]);
    else group.push(thing);
  }
  return [...groups.values()];
}

/** The sequence of what is committed after `latest`. */
export function nextSequence({ segments }: Manifest): number {
  return (segments[segments.length - 1]?.sequence ?? 0) + 1;
}

/**
 * Whether these objects may still be committed; otherwise they have to be stored again, under new names, and under the keys in
 * force: what is committed after access was revoked must not be sealed under a key from before.
 */
export function areCommittable(
  latest: Manifest,
  objects: readonly Pick<ObjectRef, "name" | "header">[],
): boolean {
  return objects.every(
    (object) =>
      bornAt(object.name) >= latest.uploads.floor && generationOfRef(object) >= latest.keyGeneration,
  );
}

/** A manifest as stored, and its digest. */
export interface SealedManifest {
  readonly manifest: Manifest;
  readonly bytes: Uint8Array;
  readonly digest: string;
}

/** Seals and signs it with the keys of its generation. Throws `forbidden` if they are a reader's. */
export function sealManifest(keys: KeyRing, indexId: Uint8Array, manifest: Manifest): SealedManifest {
  const generation = manifest.keyGeneration;
  const text = Buffer.from(JSON.stringify(manifest), "utf8");
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
  const manifest = parseStored(text, `manifest ${version}`, manifestShape(indexId, version, generation));
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
