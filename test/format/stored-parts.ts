/**
 * An index as stored, taken apart into the values of its objects, so that any field can be changed, and put together again under its own keys: all of
 * it is authentic then, and need not be well-formed.
 */

import { createHash } from "node:crypto";
import {
  anchorName,
  groupName,
  folderPrefix,
  manifestName,
  manifestPrefix,
  numberOf,
  recordPrefix,
  shortName,
} from "../../src/state/commit/object-names.js";
import { openManifest } from "../../src/state/commit/stored-manifest.js";
import { parseIndexKey, type WrapKeys } from "../../src/crypto/keys.js";
import {
  headerBytes,
  pinOf,
  type ObjectContext,
  ObjectOpener,
  ObjectSealer,
  onlyKey,
  openObject,
  type ParentKeys,
  sealObject,
} from "../../src/crypto/sealed-object.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { openRequest } from "../../src/index/open/find-index.js";
import { wrapKeysOf } from "../../src/index/open/index-record.js";
import type { KeyRing } from "../../src/keys/key-ring.js";
import { keysOfSegment } from "../../src/query/snapshot/segment-keys.js";
import { type RawFooter, blockEntries, decodeRawFooter, encodeRawFooter } from "./raw-footer.js";
import { storeOf } from "../security/world.js";

/** The value of a JSON text, to be changed. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export interface SegmentParts {
  readonly name: string;
  readonly parents: ParentKeys;
  /** As it was stored. */
  readonly sealedLengths: readonly number[];
  readonly ref: Json;
  footer: RawFooter;
  /** Plaintexts of all blocks but the footer. */
  blocks: Buffer[];
  isChanged: boolean;
}

interface Opened {
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  readonly indexName: string;
  readonly indexId: Uint8Array;
  readonly keys: KeyRing;
  readonly recordKey: string;
  readonly wrapKeys: WrapKeys;
  readonly version: number;
}

export class StoredParts {
  readonly opened: Opened;
  manifest: Json;
  keyset: Json;
  /** The secrets after the text of the keyset. */
  secrets: Buffer;
  models: { readonly name: string; plaintext: Buffer; isChanged: boolean }[];
  segments: SegmentParts[];
  /** The secret of the first namespace, and the name of this. */
  namespace: { readonly objectName: string; secret: Buffer; name: Buffer };
  /** A secret of a group of items. */
  readonly group: { readonly id: string; secret: Buffer } = {
    id: "0".repeat(32),
    secret: Buffer.alloc(32, 1),
  };
  /** An anchor of the manifest. */
  anchor: { readonly generation: number; readonly version: number; readonly digest: Uint8Array } = {
    generation: 1,
    version: 1,
    digest: new Uint8Array(32),
  };
  /** The members of a receipt. */
  receipt: Json;

  private constructor(
    opened: Opened,
    parts: Pick<StoredParts, "manifest" | "keyset" | "secrets" | "models" | "segments" | "namespace">,
  ) {
    this.opened = opened;
    this.namespace = parts.namespace;
    this.receipt = {
      indexId: Buffer.from(opened.indexId).toString("hex"),
      namespace: "tenant",
      erasedAt: 0,
      rows: 0,
      version: 1,
      keyGeneration: 1,
    };
    this.manifest = parts.manifest;
    this.keyset = parts.keyset;
    this.secrets = parts.secrets;
    this.models = parts.models;
    this.segments = parts.segments;
  }

  /** `blobs`: everything that is stored, by key. */
  static async open(
    blobs: ReadonlyMap<string, Uint8Array>,
    { indexName, indexKey }: { readonly indexName: string; readonly indexKey: string },
  ): Promise<StoredParts> {
    const client = new EmbeddedClient({ indexLocation: storeOf(new Map(blobs)) });
    const index = await client.open(openRequest({ indexName, indexKey }), false);
    const { indexId, keys } = index;
    const keyOf = (name: string) => folderPrefix(indexName) + name.slice("index/".length);
    const bytesOf = (name: string) => blobs.get(keyOf(name)) as Uint8Array;
    const names = [...blobs.keys()].sort();
    const recordKey = names.find((key) => key.startsWith(recordPrefix(indexName))) as string;
    const record = { indexName, name: recordKey, bytes: blobs.get(recordKey) as Uint8Array };
    const wrapKeys = await wrapKeysOf(parseIndexKey(indexKey), record);
    const context = { kind: "keyset", indexId, name: recordKey } as const;
    const keyset = Buffer.from(
      openObject(onlyKey(wrapKeys.keyEncryption), context, firstWrap(record.bytes).sealed),
    );
    const textEnd = 4 + keyset.readUInt32LE();
    const prefix = keyOf(manifestPrefix(indexId));
    const newest = names.find((key) => key.startsWith(prefix)) as string;
    const version = numberOf(newest);
    const sealed = blobs.get(newest) as Uint8Array;
    const text = openObject(keys.data, manifestContext(indexId, version), sealed).subarray(64);
    const refs = openManifest(keys, indexId, version, sealed).manifest;
    const models = (refs.model ? [refs.model] : []).map(({ name }) => ({
      name,
      plaintext: Buffer.from(openObject(keys.data, { kind: "model", indexId, name }, bytesOf(name))),
      isChanged: false,
    }));
    const [id] = refs.segments.flatMap(({ namespace }) => namespace ?? []);
    const objectName = index.namespaces.objectNameOf(id);
    const secret = openObject(
      keys.namespace,
      { kind: "namespace", indexId, name: objectName },
      bytesOf(objectName),
    );
    const segments: SegmentParts[] = [];
    for (const ref of refs.segments) {
      const parents = await keysOfSegment(index, ref);
      segments.push(openSegment(indexId, parents, ref, bytesOf(ref.name)));
    }
    await client.close();
    return new StoredParts(
      { blobs, indexName, indexId, keys, recordKey, wrapKeys, version },
      {
        manifest: JSON.parse(Buffer.from(text).toString()),
        keyset: JSON.parse(keyset.toString("utf8", 4, textEnd)),
        secrets: keyset.subarray(textEnd),
        models,
        segments,
        namespace: {
          objectName,
          secret: Buffer.from(secret.subarray(0, 32)),
          name: Buffer.from(secret.subarray(32)),
        },
      },
    );
  }

  copy(): StoredParts {
    return new StoredParts(this.opened, {
      manifest: structuredClone(this.manifest),
      keyset: structuredClone(this.keyset),
      secrets: this.secrets,
      models: this.models.map((model) => ({ ...model, plaintext: Buffer.from(model.plaintext) })),
      segments: this.segments.map((segment) => ({
        ...segment,
        footer: structuredClone(segment.footer),
        blocks: [...segment.blocks],
      })),
      namespace: { ...this.namespace },
    });
  }

  /** Everything that is stored, with the changes. */
  seal(): Map<string, Uint8Array> {
    const { blobs, indexName, indexId, keys, recordKey, version } = this.opened;
    const stored = new Map(blobs);
    const put = (name: string, bytes: Uint8Array) =>
      stored.set(folderPrefix(indexName) + name.slice("index/".length), bytes);
    for (const { name, plaintext } of this.models.filter(({ isChanged }) => isChanged)) {
      const bytes = sealObject(keys.data, { kind: "model", indexId, name }, plaintext);
      put(name, bytes);
      this.#pin(name, bytes, {});
    }
    for (const segment of this.segments.filter(({ isChanged }) => isChanged)) {
      const { bytes, footerLength } = sealSegment(indexId, segment);
      put(segment.name, bytes);
      this.#pin(segment.name, bytes, { footerLength });
    }
    put(this.namespace.objectName, this.sealNamespace());
    put(manifestName(indexId, version), this.sealManifest());
    stored.set(recordKey, this.#sealRecord());
    return stored;
  }

  sealManifest(): Uint8Array {
    const { indexId, keys, version } = this.opened;
    const text = Buffer.from(textOf(this.manifest));
    const signature = keys.sign("sealdex/1/manifest", Buffer.concat([indexId, text]));
    return sealObject(keys.data, manifestContext(indexId, version), Buffer.concat([signature, text]));
  }

  /** `name`: of the object. */
  sealNamespace(name = this.namespace.objectName): Uint8Array {
    const { indexId, keys } = this.opened;
    const { secret, name: text } = this.namespace;
    return sealObject(keys.namespace, { kind: "namespace", indexId, name }, Buffer.concat([secret, text]));
  }

  /** Its name, and its bytes. */
  sealGroup(): [string, Uint8Array] {
    const { indexId, keys } = this.opened;
    const name = groupName(indexId, this.group.id);
    return [name, sealObject(keys.namespace, { kind: "group", indexId, name }, this.group.secret)];
  }

  /** Its name, and its bytes. */
  sealAnchor(): [string, Uint8Array] {
    const { indexName, indexId, keys } = this.opened;
    const { digest, ...numbers } = this.anchor;
    const name = anchorName(indexName, { ...numbers, indexId });
    const signature = keys.sign("sealdex/1/anchor", Buffer.concat([Buffer.from(name), digest]));
    const plaintext = Buffer.concat([signature, digest]);
    return [name, sealObject(keys.data, { kind: "anchor", indexId, name }, plaintext)];
  }

  signReceipt(): string {
    const text = Buffer.from(textOf(this.receipt));
    const signature = Buffer.from(this.opened.keys.sign("sealdex/1/erasure", text));
    return `sealdex-erasure-1-${text.toString("base64url")}.${signature.toString("base64url")}`;
  }

  keysetBytes(): Buffer {
    const text = Buffer.from(textOf(this.keyset));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    return Buffer.concat([length, text, this.secrets]);
  }

  /** The manifest names the object that was sealed again, unless that member was changed itself. */
  #pin(name: string, bytes: Uint8Array, sizes: { readonly footerLength?: number }): void {
    const { model, segments } = this.manifest;
    const pin = Buffer.from(pinOf(bytes.subarray(0, headerBytes))).toString("base64");
    if (model?.name === shortName(name)) {
      if (isPin(model.pin)) model.pin = pin;
      model.length = bytes.length;
    }
    const before = this.segments.find((segment) => segment.name === name)?.ref;
    listOf(segments?.name).forEach((short, i) => {
      if (before === undefined || short !== shortName(name)) return;
      if (isPin(segments.pin?.[i])) segments.pin[i] = pin;
      if (segments.length?.[i] === before.length) segments.length[i] = bytes.length;
      if (segments.footerLength?.[i] === before.footerLength) segments.footerLength[i] = sizes.footerLength;
    });
  }

  #sealRecord(): Uint8Array {
    const { blobs, indexId, recordKey, wrapKeys } = this.opened;
    const record = blobs.get(recordKey) as Uint8Array;
    const { at, sealed } = firstWrap(record);
    const context = { kind: "keyset", indexId, name: recordKey } as const;
    const again = sealObject(onlyKey(wrapKeys.keyEncryption), context, this.keysetBytes());
    const length = Buffer.alloc(4);
    length.writeUInt32LE(again.length);
    const rest = record.subarray(at + sealed.length, record.length - 32);
    const body = Buffer.concat([record.subarray(0, at - 4), length, again, rest]);
    return Buffer.concat([body, createHash("sha256").update(body).digest()]);
  }
}

function isPin(value: Json): boolean {
  return typeof value === "string" && value.length === 88;
}

function listOf(value: Json): Json[] {
  return Array.isArray(value) ? value : [];
}

/** The JSON text of a value, with the texts of `rawJson`. */
function textOf(value: Json): string {
  return JSON.stringify(value).replace(/"\u2063([^"]*)\u2063"/g, (_, raw: string) => JSON.parse(`"${raw}"`));
}

/** A value that is written as this JSON text, such as a number that no number of JavaScript is written as. */
export function rawJson(text: string): string {
  return `\u2063${text}\u2063`;
}

/** docs/internals/format.md §3. `at`: where its sealed keyset begins. */
function firstWrap(record: Uint8Array): { readonly at: number; readonly sealed: Uint8Array } {
  const view = Buffer.from(record.buffer, record.byteOffset, record.length);
  const wrappedAt = 68 + 64;
  const sealedAt = wrappedAt + 4 + view.readUInt32LE(wrappedAt);
  const at = sealedAt + 4;
  return { at, sealed: record.subarray(at, at + view.readUInt32LE(sealedAt)) };
}

function manifestContext(indexId: Uint8Array, version: number): ObjectContext {
  return { kind: "manifest", indexId, name: manifestName(indexId, version) };
}

function openSegment(indexId: Uint8Array, parents: ParentKeys, ref: Json, bytes: Uint8Array): SegmentParts {
  const context = { kind: "segment", indexId, name: ref.name } as const;
  const opener = new ObjectOpener(parents, context, bytes.subarray(0, headerBytes));
  const footer = decodeRawFooter(opener.open(ref.blocks - 1, bytes.subarray(ref.length - ref.footerLength)));
  let at = headerBytes;
  const sealedLengths: number[] = [];
  const blocks = blockEntries(footer).map((entry, number) => {
    const length = entry.get();
    sealedLengths.push(length);
    at += length;
    return Buffer.from(opener.open(number, bytes.subarray(at - length, at)));
  });
  return {
    name: ref.name,
    parents,
    sealedLengths,
    ref: structuredClone(ref),
    footer,
    blocks,
    isChanged: false,
  };
}

function sealSegment(indexId: Uint8Array, { name, parents, sealedLengths, footer, blocks }: SegmentParts) {
  const sealer = new ObjectSealer(parents, { kind: "segment", indexId, name });
  const sealed = blocks.map((plaintext) => sealer.seal(plaintext));
  const entries = blockEntries(footer);
  sealed.forEach((bytes, i) => {
    if (bytes.length !== sealedLengths[i]) entries[i]?.set(bytes.length);
  });
  const last = sealer.seal(encodeRawFooter(footer));
  return { bytes: Buffer.concat([sealer.header, ...sealed, last]), footerLength: last.length };
}
