/** The places of the sealed blocks of segments, which an attacker can only guess, since they are in sealed footers. */

import { openFolder } from "../../src/state/commit/index-folder.js";
import { folderPrefix, manifestPrefix, numberOf, recordPrefix } from "../../src/state/commit/object-names.js";
import { openManifest } from "../../src/state/commit/stored-manifest.js";
import { parseIndexKey } from "../../src/crypto/keys.js";
import { ObjectOpener } from "../../src/crypto/sealed-object.js";
import { openRecord } from "../../src/index/open/index-record.js";
import type { Block } from "../../src/state/segment/block.js";
import { decodeFooter } from "../../src/state/segment/footer.js";
import { type Blobs, storeOf } from "./world.js";
import { whole } from "../ranges.js";

export interface SealedBlock {
  /** As the footer calls it, such as `codes` for blocks of lists and `postings` for chunks of postings; or `footer`. */
  readonly section: string;
  readonly offset: number;
  readonly length: number;
}

/** The blocks of every segment that the newest manifest names, by key, in their order. */
export async function sealedBlocks(
  blobs: Blobs,
  indexName: string,
  indexKey: string,
): Promise<Map<string, readonly SealedBlock[]>> {
  const store = storeOf(new Map(blobs));
  const [recordName] = await store.list(recordPrefix(indexName), { limit: 1 });
  const record = { indexName, name: recordName, bytes: blobs.get(recordName) as Uint8Array };
  const { indexId, keys } = await openRecord(parseIndexKey(indexKey), record);
  const folder = openFolder(store, indexName);
  const [name] = await folder.list(manifestPrefix(indexId), { limit: 1 });
  const sealed = (await folder.read(name, whole)) as Uint8Array;
  const { segments } = openManifest(keys, indexId, numberOf(name), sealed).manifest;
  const found = new Map<string, readonly SealedBlock[]>();
  for (const ref of segments) {
    const bytes = (await folder.read(ref.name, whole)) as Uint8Array;
    const context = { kind: "segment", indexId, name: ref.name } as const;
    const opener = new ObjectOpener(keys.data, context, Buffer.from(ref.header, "base64"));
    const offset = ref.length - ref.footerLength;
    const sections = Object.entries(decodeFooter(opener.open(ref.blocks - 1, bytes.subarray(offset)), ref));
    const blocks = sections.flatMap(([section, value]) =>
      typeof value === "object" && Symbol.iterator in value
        ? Array.from(value as Iterable<Block>, (block) => ({ section, ...block }))
        : [],
    );
    const inOrder = blocks.sort((a, b) => a.offset - b.offset);
    const key = folderPrefix(indexName) + ref.name.slice("index/".length);
    found.set(key, [...inOrder, { section: "footer", offset, length: ref.footerLength }]);
  }
  return found;
}
