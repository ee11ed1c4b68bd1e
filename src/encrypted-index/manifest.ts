/**
 * Manifests: the whole state of an index as a short sealed list. FORMAT.md §5.
 *
 * Manifest n + 1 follows manifest n; creating it is the one atomic step of every change. Each holds the digest
 * of the one before it, so manifests of different histories cannot be mixed.
 */

import { createHash } from "node:crypto";
import type { IndexKeys } from "../crypto/keys.js";
import { openObject, sealObject } from "../crypto/sealed-object.js";
import { SealdexError } from "../errors.js";
import { manifestName } from "./names.js";

/** What pins a stored object: nothing else passes for it. */
export interface ObjectRef {
  readonly name: string;
  /** The object's 76-byte header, base64. */
  readonly header: string;
  /** Bytes. */
  readonly length: number;
}

export interface SegmentRef extends ObjectRef {
  /**
   * The version of the manifest that first held these rows. A row hides rows of the same id in segments of
   * lower sequence; segments of equal sequence have no id in common.
   */
  readonly sequence: number;
  readonly rows: number;
  readonly deleted: number;
  readonly blocks: number;
  readonly directoryLength: number;
  /** Name of the model by whose lists the rows are grouped; absent: one list. */
  readonly model?: string;
}

/** An object that no manifest names any more. */
export interface Garbage {
  readonly name: string;
  /** When it was dropped, milliseconds since 1970 by the dropping process's clock. */
  readonly since: number;
}

export interface Manifest {
  /** 1 for a new index. */
  readonly version: number;
  /** SHA-256 of the sealed manifest before this one, hexadecimal; empty for version 1. */
  readonly previous: string;
  /** The index was deleted: nothing it held exists any more. */
  readonly dropped: boolean;
  /** Undefined until the first vector decides it. */
  readonly dimension?: number;
  /** The model of new segments. Absent: untrained. */
  readonly model?: ObjectRef;
  /** Models that segments still name after another took their place: rows without vectors cannot be read without. */
  readonly olderModels?: readonly ObjectRef[];
  /** Ascending by sequence. */
  readonly segments: readonly SegmentRef[];
  readonly garbage: readonly Garbage[];
}

/** All models that a manifest names. */
export function modelRefs({ model, olderModels = [] }: Manifest): readonly ObjectRef[] {
  return model === undefined ? olderModels : [model, ...olderModels];
}

export const emptyManifest: Manifest = {
  version: 1,
  previous: "",
  dropped: false,
  segments: [],
  garbage: [],
};

/** A manifest as stored, and its digest. */
export interface SealedManifest {
  readonly manifest: Manifest;
  readonly bytes: Uint8Array;
  readonly digest: string;
}

export function sealManifest(keys: IndexKeys, indexId: Uint8Array, manifest: Manifest): SealedManifest {
  const plaintext = Buffer.from(JSON.stringify(manifest), "utf8");
  const bytes = sealObject(keys.data, manifestContext(indexId, manifest.version), plaintext);
  return { manifest, bytes, digest: digestOf(bytes) };
}

/** Throws `corrupt` unless `bytes` are this index's manifest of this version. */
export function openManifest(
  keys: IndexKeys,
  indexId: Uint8Array,
  version: number,
  bytes: Uint8Array,
): SealedManifest {
  const plaintext = openObject(keys.data, manifestContext(indexId, version), bytes);
  const manifest = JSON.parse(Buffer.from(plaintext).toString("utf8")) as Manifest;
  if (manifest.version !== version) {
    throw new SealdexError("internal", `manifest ${version}: it says to be version ${manifest.version}`);
  }
  return { manifest, bytes, digest: digestOf(bytes) };
}

function manifestContext(indexId: Uint8Array, version: number) {
  return { kind: "manifest", indexId, name: manifestName(indexId, version) } as const;
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
