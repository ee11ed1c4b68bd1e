/** Seals segments and models, and stores them under new random names. No manifest names them yet. */

import type { ManifestLog } from "../../state/commit/manifest-log.js";
import type { ObjectRef } from "../../state/commit/manifest.js";
import type { Namespace } from "../../state/commit/namespaces.js";
import { newObjectName } from "../../state/commit/object-names.js";
import type { StoredSegment } from "../../state/commit/replace-segments.js";
import { headerBytes, sealObject } from "../../crypto/sealed-object.js";
import type { Model } from "../../engine/model.js";
import { SealdexError } from "../../errors.js";
import { isWordless } from "../../api/bytes-url.js";
import { decodeContents, recordMetadata } from "../../state/segment/row.js";
import type { Encoding } from "../../state/segment/row-source.js";
import type { RowTexts } from "../../state/segment/words/gather-terms.js";
import { type Batch, groupByList, writeSegment } from "../../state/segment/segment-writer.js";
import { encodeModel } from "../../state/segment/stored-model.js";
import type { BlobStore } from "../../storage/blob-store.js";
import type { IndexWords } from "../../text/define-text.js";
import { fieldTexts } from "../../text/document-terms.js";
import { run } from "../../engine/threads/run.js";
import type { OpenedRecord } from "./index-record.js";
import { own } from "../../checks/value-kinds.js";

/** The owner of a segment. */
export interface SegmentPlace {
  /** Of the model by whose lists its rows are grouped; undefined: they are not grouped. */
  readonly modelName?: string | undefined;
  /** Undefined: none. */
  readonly namespace?: Pick<Namespace, "id" | "keys"> | undefined;
}

export class ObjectWriter {
  readonly #record: OpenedRecord;
  readonly #store: BlobStore;
  readonly #log: ManifestLog;
  readonly #texts: RowTexts | undefined;

  /** `log`: its newest version is the birth of new objects. */
  constructor(record: OpenedRecord, store: BlobStore, log: ManifestLog, words?: IndexWords) {
    this.#record = record;
    this.#store = store;
    this.#log = log;
    this.#texts = words && rowTexts(words);
  }

  /** Seals and stores a batch as one segment. */
  async storeSegment(
    batch: Batch,
    encoding: Encoding,
    { modelName, namespace }: SegmentPlace,
    signal?: AbortSignal,
  ): Promise<StoredSegment> {
    const { indexId } = this.#record;
    const keys = namespace?.keys ?? this.#record.keys.data;
    const name = newObjectName(indexId, "segment", this.#log.knownVersion);
    const context = { kind: "segment", indexId, name } as const;
    const grouped = batch.grouped ?? (await run(groupByList(batch, encoding), signal));
    // A model that holds averages of rows in namespaces would outlive their erasure.
    const writing = writeSegment(keys, context, { ...batch, grouped }, encoding, this.#texts);
    const { bytes, rows, blocks, footerLength } = await run(writing, signal);
    return own({
      ...(await this.create(name, bytes, signal)),
      rows,
      deleted: batch.deleted.length,
      blocks,
      footerLength,
      ...(modelName !== undefined && { model: modelName }),
      ...(namespace && { namespace: namespace.id }),
    });
  }

  async storeModel(model: Model, signal?: AbortSignal): Promise<ObjectRef> {
    const { indexId, keys } = this.#record;
    const name = newObjectName(indexId, "model", this.#log.knownVersion);
    const plaintext = await run(encodeModel(model), signal);
    const bytes = sealObject(keys.data, { kind: "model", indexId, name }, plaintext);
    return this.create(name, bytes, signal);
  }

  /** Stores a sealed object under its new name. */
  async create(name: string, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<ObjectRef> {
    const [isNew] = await Promise.all([
      this.#store.create(name, bytes, { signal }),
      this.#log.prepareCommit(),
    ]);
    if (!isNew) {
      throw new SealdexError("internal", `stored object ${name}: a new random name is taken`);
    }
    const header = Buffer.from(bytes.subarray(0, headerBytes)).toString("base64");
    return { name, header, length: bytes.length };
  }
}

/** The texts of rows, from which segments take their words. */
function rowTexts({ definition: { fields }, analyzer }: IndexWords): RowTexts {
  const needsMetadata = fields.some(({ path }) => path !== "contents");
  return {
    analyzer,
    of({ contents, record }) {
      const text = contents === null ? undefined : decodeContents(contents);
      const item = {
        contents: text === undefined || isWordless(text) ? undefined : text,
        metadata: needsMetadata ? recordMetadata(record) : {},
      };
      return fieldTexts(item, fields);
    },
  };
}
