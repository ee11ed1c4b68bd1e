/**
 * Reads a stored index with docs/internals/format.md and two cryptographic libraries alone: nothing of src/ is imported here. If this reader
 * and the library disagree, one of them, or docs/internals/format.md, is wrong.
 */

import { gcm } from "@noble/ciphers/aes.js";
import { ed25519 } from "@noble/curves/ed25519.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";

/** Everything that a storage location holds, by key. */
export type Stored = ReadonlyMap<string, Uint8Array>;

export interface ReadItem {
  readonly id: string;
  readonly metadata: unknown;
  /** In milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  readonly contents: string | null;
  /** Undefined if the segment holds codes alone. */
  readonly vector: readonly number[] | undefined;
  /** How often it has each term. */
  readonly terms: ReadonlyMap<string, number>;
  readonly length: number;
  /** Of a row that is a code, the number of its reference centroid. */
  readonly reference: number | undefined;
}

export interface ReadModel {
  readonly kind: number;
  readonly dimension: number;
  readonly lists: number;
  readonly centroids: Float32Array;
}

export interface ReadIndex {
  readonly definition: { readonly config: Record<string, unknown>; readonly embeddingModel?: string };
  readonly manifest: ReadManifest;
  /** The live items, by id, in a namespace by its name, a slash and the id. */
  readonly items: ReadonlyMap<string, ReadItem>;
  readonly model: ReadModel | undefined;
  /** For each path of the metadata columns, how many rows reach each value; of all segments. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Rows of all segments that have second lists. */
  readonly rowsInSecondLists: number;
}

interface ObjectRef {
  readonly name: string;
  readonly header: string;
  readonly length: number;
}

interface SegmentRef extends ObjectRef {
  readonly sequence: number;
  readonly rows: number;
  readonly deleted: number;
  readonly blocks: number;
  readonly footerLength: number;
  readonly model?: string;
  readonly namespace?: string;
}

export interface ReadManifest {
  readonly version: number;
  readonly previous: string;
  readonly keyGeneration: number;
  readonly dropped: boolean;
  readonly dimension?: number;
  readonly model?: ObjectRef;
  readonly segments: readonly SegmentRef[];
  readonly erasures?: number;
}

const versionMax = 9007199254740991;
const kinds = { keyset: 1, manifest: 2, model: 3, segment: 4, namespace: 7 } as const;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The keys of a holder's keyset. */
interface Keys {
  readonly indexId: Uint8Array;
  readonly idKey: Uint8Array;
  readonly namespaceKey: Uint8Array;
  readonly namespaceNameKey: Uint8Array;
  /** By generation. */
  readonly data: ReadonlyMap<number, Uint8Array>;
  readonly verify: ReadonlyMap<number, Uint8Array>;
  /** From which version on each counts. */
  readonly since: ReadonlyMap<number, number>;
}

/** §1: the newest record of a name, the chain of manifests, every object that the newest manifest names. */
export function readIndex(config: Stored, index: Stored, indexName: string, indexKey: string): ReadIndex {
  const prefix = `names/${base32(new TextEncoder().encode(indexName))}/`;
  const recordKey = first(config, prefix);
  const { keys, definition } = readRecord(needed(config, recordKey), recordKey, fromHex(indexKey));
  const manifest = readManifests(inFolder(config, indexName), `index/${hex(keys.indexId)}/manifest/`, keys);
  const namespaces = readNamespaces(inFolder(config, indexName), keys);
  const objects = inFolder(index, indexName);
  const values = new Map<string, Map<string, number>>();
  const items = new Map<string, ReadItem>();
  const known = new Set<string>();
  const model = manifest.model && readModel(needed(objects, manifest.model.name), manifest.model, keys);
  let rowsInSecondLists = 0;
  // Newest first: an item's entry in the newest segment counts.
  for (const ref of manifest.segments.toReversed()) {
    const namespace = ref.namespace === undefined ? undefined : namespaces.get(ref.namespace);
    if (ref.namespace !== undefined && namespace === undefined)
      throw new Error("segment: the secret of its namespace is gone");
    const own = namespace === undefined ? keys : { ...keys, ...namespace };
    const segment = readSegment(needed(objects, ref.name), ref, own, definition, values);
    rowsInSecondLists += segment.rowsInSecondLists;
    if (model !== undefined && ref.model === manifest.model?.name)
      checkRadii(segment, model, definition.config.metric === "cosine");
    const fresh = segment.entries.filter(({ fingerprint }) => !known.has(fingerprint));
    for (const { fingerprint, row } of fresh) {
      known.add(fingerprint);
      if (row === undefined) continue;
      const { id } = segment.rows[row];
      const key = namespace === undefined ? id : `${namespace.name}/${id}`;
      items.set(key, segment.rows[row]);
    }
  }
  return { definition, manifest, items, model, values, rowsInSecondLists };
}

/** §1: the objects of the indexes that have had this name, by the names under which they are sealed. */
function inFolder(stored: Stored, indexName: string): Stored {
  const folder = `index/${base32(new TextEncoder().encode(indexName))}/`;
  const objects = [...stored].filter(([key]) => key.startsWith(folder));
  return new Map(objects.map(([key, bytes]) => [`index/${key.slice(folder.length)}`, bytes]));
}

/** The objects, of all that were ever stored, that the key opens: an attacker tries all keys that they can make. */
export interface Opened {
  /** As JSON. */
  readonly manifests: readonly string[];
  /** Every segment that one of the manifests names; `content` is undefined if no key opens it. */
  readonly segments: readonly { readonly ref: SegmentRef; readonly content: string | undefined }[];
  readonly models: readonly ReadModel[];
}

export function openEverything(stored: Stored, indexName: string, indexKey: string): Opened {
  const recordNames = [...stored.keys()].filter((name) => name.startsWith("names/")).sort();
  const records = recordNames.flatMap((name) => {
    try {
      return [readRecord(needed(stored, name), name, fromHex(indexKey))];
    } catch {
      // Of another key.
      return [];
    }
  });
  const manifests: string[] = [];
  const segments = new Map<string, { readonly ref: SegmentRef; content: string | undefined }>();
  const models = new Map<string, ReadModel>();
  const objects = inFolder(stored, indexName);
  for (const { keys, definition } of records) {
    const namespaces = [...readNamespaces(objects, keys).values()];
    const holders = [keys, ...namespaces.map((namespace) => ({ ...keys, ...namespace }))];
    for (const manifest of manifestsOf(objects, keys)) {
      manifests.push(JSON.stringify(manifest));
      const { model } = manifest;
      if (model !== undefined) {
        const bytes = objects.get(model.name);
        if (bytes !== undefined) models.set(model.name, readModel(bytes, model, keys));
      }
      for (const ref of manifest.segments) {
        const known = segments.get(ref.name) ?? { ref, content: undefined };
        segments.set(ref.name, known);
        const bytes = objects.get(ref.name);
        if (bytes === undefined) continue;
        for (const holder of holders) known.content ??= contentOf(bytes, ref, holder, definition);
      }
    }
  }
  if (records.length === 0) throw new Error(`no record of "${indexName}" has this key`);
  return { manifests, segments: [...segments.values()], models: [...models.values()] };
}

/** Every manifest that a key opens. */
function manifestsOf(stored: Stored, { indexId, data }: Keys): ReadManifest[] {
  const prefix = `index/${hex(indexId)}/manifest/`;
  return [...stored].flatMap(([name, bytes]) => {
    if (!name.startsWith(prefix)) return [];
    try {
      const plaintext = openObject(data, "manifest", indexId, name, bytes)(0, bytes.subarray(76));
      return [decodeManifest(utf8.decode(plaintext.subarray(64)), indexId)];
    } catch {
      return [];
    }
  });
}

function contentOf(
  bytes: Uint8Array,
  ref: SegmentRef,
  keys: Keys & { readonly namespaceId?: Uint8Array },
  definition: ReadIndex["definition"],
): string | undefined {
  const values = new Map<string, Map<string, number>>();
  try {
    const { rows, entries } = readSegment(bytes, ref, keys, definition, values);
    const terms = rows.map((row) => [...row.terms.keys()]);
    const columns = Array.from(values, ([path, counts]) => [path, [...counts.keys()]]);
    return JSON.stringify([rows, terms, entries, columns]);
  } catch (error) {
    const refusals = ["key commitment: not what", "there is no key of its generation"];
    if (refusals.some((text) => String(error).includes(text))) return undefined;
    throw error;
  }
}

/** §3. */
function readRecord(bytes: Uint8Array, key: string, holderKey: Uint8Array) {
  const body = bytes.subarray(0, bytes.length - 32);
  same(sha256(body), bytes.subarray(body.length), "checksum of the record");
  same(body.subarray(0, 8), ascii("SLDXREC\u0002"), "magic of the record");
  const indexId = body.slice(8, 24);
  const salt = body.subarray(24, 56);
  const keyCheck = derive(holderKey, salt, "sealdex/1/key-check", indexId, 32);
  const keyEncryption = derive(holderKey, salt, "sealdex/1/key-encryption", indexId, 32);
  let sealed: Uint8Array | undefined;
  let at = 68;
  const take = (length: number) => body.subarray(at, (at += length));
  const [generation, isSettled, wrapCount] = times(3, words(body.subarray(56)));
  for (let wraps = wrapCount; wraps > 0; wraps--) {
    const isOurs = hex(take(32)) === hex(keyCheck);
    take(32); // provider tag
    take(words(take(4))());
    const keyset = take(words(take(4))());
    if (isOurs) sealed = keyset;
  }
  if (sealed === undefined) throw new Error("record: no wrap has this key");
  if (at !== body.length) throw new Error("record: longer than its wraps");
  const open = openObject(new Map([[0, keyEncryption]]), "keyset", indexId, key, sealed);
  const plaintext = open(0, sealed.subarray(76));
  at = 4 + words(plaintext)();
  const text = JSON.parse(utf8.decode(plaintext.subarray(4, at))) as {
    readonly generations: readonly { readonly number: number; readonly since?: number }[];
    readonly definition: ReadIndex["definition"];
  };
  const secret = () => plaintext.slice(at, (at += 32));
  const lasting = secret();
  const lastingKey = (label: string) => derive(lasting, new Uint8Array(0), label, indexId, 32);
  const idKey = lastingKey("sealdex/1/id");
  const namespaceKey = lastingKey("sealdex/1/namespace");
  const namespaceNameKey = lastingKey("sealdex/1/namespace-name");
  const data = new Map<number, Uint8Array>();
  const verify = new Map<number, Uint8Array>();
  const since = new Map<number, number>();
  for (const one of text.generations) {
    data.set(one.number, derive(secret(), new Uint8Array(0), "sealdex/1/data", indexId, 32));
    verify.set(one.number, secret());
    if (one.since !== undefined) since.set(one.number, one.since);
  }
  if (text.generations.at(-1)?.number !== generation || since.has(generation) !== (isSettled === 1))
    throw new Error("record: its generation is another");
  const keys = { indexId, idKey, namespaceKey, namespaceNameKey, data, verify, since };
  return { keys, definition: text.definition };
}

/** §4: the namespaces with a secret, by their ids, and the data keys of their segments by generation. */
function readNamespaces(config: Stored, { indexId, namespaceKey, namespaceNameKey, data }: Keys) {
  const prefix = `index/${hex(indexId)}/namespace/`;
  const objects = [...config].filter(([key]) => key.startsWith(prefix));
  return new Map(
    objects.map(([key, bytes]) => {
      const parents = new Map([[0, namespaceKey]]);
      const plaintext = openObject(parents, "namespace", indexId, key, bytes)(0, bytes.subarray(76));
      const secret = plaintext.slice(0, 32);
      const nameBytes = plaintext.slice(32);
      const handle = hmac(sha256, namespaceNameKey, nameBytes).subarray(0, 16);
      if (key.slice(prefix.length, -17) !== hex(handle))
        throw new Error("namespace: its key is not its name's");
      const dataKeys = Array.from(data, ([generation, dataKey]): [number, Uint8Array] => [
        generation,
        derive(dataKey, secret, "sealdex/1/namespace-data", indexId, 32),
      ]);
      const check = derive(secret, new Uint8Array(0), "sealdex/1/namespace-check", indexId, 16);
      const id = `${hex(handle)}-${versionMax - Number(key.slice(-16))}-${hex(check)}`;
      const namespaceId = handle;
      return [id, { name: utf8.decode(nameBytes), namespaceId, data: new Map(dataKeys) }];
    }),
  );
}

interface WrittenRef {
  readonly name: string;
  readonly generation: number;
  readonly pin: string;
}

/** §5: references as they are written, and lists of the models and namespaces of segments. */
function decodeManifest(text: string, indexId: Uint8Array): ReadManifest {
  const written = JSON.parse(text);
  const { segments: columns, models = [], namespaces = [], model } = written;
  const nameOf = (kind: string, short: string) => {
    const [born] = short.split("-");
    const random = hex(Buffer.from(short.slice(born.length + 1), "base64url"));
    return `index/${hex(indexId)}/${kind}/${born.padStart(16, "0")}${random}`;
  };
  const refOf = <T extends WrittenRef>(kind: "model" | "segment", { generation, pin, ...rest }: T) => {
    const head = Uint8Array.of(...ascii("SLDX"), 2, kinds[kind], 0, 0, 0, 0, 0, 0);
    new DataView(head.buffer).setUint32(8, generation);
    const header = Buffer.concat([head, Buffer.from(pin, "base64")]).toString("base64");
    return { ...rest, name: nameOf(kind, rest.name), header };
  };
  const segments = Array.from({ length: columns.name?.length ?? 0 }, (_, i) => {
    const values = Object.entries<readonly unknown[]>(columns).map(([name, list]) => [name, list[i]]);
    const { namespace, model: grouping, ...rest } = Object.fromEntries(values);
    return {
      ...refOf("segment", rest),
      ...(typeof namespace === "number" && { namespace: namespaces[namespace] }),
      ...(typeof grouping === "number" && { model: nameOf("model", models[grouping]) }),
    };
  });
  return { ...written, segments, ...(model && { model: refOf("model", model) }) };
}

/** §5: the newest manifest, after the chain of those that are still there was checked. */
function readManifests(config: Stored, prefix: string, { indexId, data, verify, since }: Keys): ReadManifest {
  const names = [...config.keys()].filter((name) => name.startsWith(prefix)).sort();
  const manifests = names.map((name) => {
    const bytes = needed(config, name);
    const plaintext = openObject(data, "manifest", indexId, name, bytes)(0, bytes.subarray(76));
    const text = plaintext.subarray(64);
    const manifest = decodeManifest(utf8.decode(text), indexId);
    const publicKey = verify.get(manifest.keyGeneration) ?? new Uint8Array(32);
    const signed = concat(ascii("sealdex/1/manifest\u0000"), indexId, text);
    if (!ed25519.verify(plaintext.subarray(0, 64), signed, publicKey))
      throw new Error("manifest: its signature is wrong");
    if (name !== prefix + countDown(manifest.version))
      throw new Error("manifest: its version is not its name");
    return { manifest, digest: hex(sha256(bytes)) };
  });
  manifests.forEach(({ manifest }, i) => {
    const older = manifests[i + 1];
    if (older !== undefined && manifest.previous !== older.digest)
      throw new Error("manifests: the chain is broken");
  });
  const [{ manifest: newest }] = manifests;
  for (const [generation, version] of since) {
    const isOld = generation > newest.keyGeneration && newest.version >= version;
    const isBefore = generation === newest.keyGeneration && newest.version < version;
    if (isOld || isBefore) throw new Error("manifest: its keys do not count at its version");
  }
  return newest;
}

/** §4. */
function readSegment(
  bytes: Uint8Array,
  ref: SegmentRef,
  { indexId, idKey, data, namespaceId = new Uint8Array(16) }: Keys & { readonly namespaceId?: Uint8Array },
  definition: ReadIndex["definition"],
  values: Map<string, Map<string, number>>,
) {
  if (bytes.length !== ref.length) throw new Error("segment: another length than the manifest says");
  same(bytes.subarray(0, 76), fromBase64(ref.header), "header of the segment");
  const open = openObject(data, "segment", indexId, ref.name, bytes);
  const footer = open(ref.blocks - 1, bytes.subarray(bytes.length - ref.footerLength));
  const [
    dimension,
    rowCount,
    codeBlocks,
    recordPages,
    contentPages,
    sortedPages,
    columnPages,
    idBlocks,
    textBytes,
  ] = times(9, words(footer));
  const rowEntries = varints(footer, 36);
  const rowBlocks = (count: number, more: () => void = () => {}) => {
    const lengths = new Map<number, number>();
    return times(count, () => {
      const [rows, stored] = times(2, rowEntries.next);
      const length = stored === 0 ? lengths.get(rows) : stored;
      if (length === undefined) throw new Error("footer: no block before has as many rows");
      lengths.set(rows, length);
      more();
      return { length, rows };
    });
  };
  const radii: { list: number; radius: number }[] = [];
  const codes = rowBlocks(codeBlocks, () => {
    const list = (radii.at(-1)?.list ?? 0) + rowEntries.next();
    const [low, high] = rowEntries.take(2);
    radii.push({ list, radius: floatOf((low + 256 * high) * 2 ** 15) });
  });
  const [records, contents] = [rowBlocks(recordPages), rowBlocks(contentPages)];
  const word = words(footer.subarray(rowEntries.at()));
  const pages = (count: number) =>
    times(count, () => {
      const [length, firstRow, rows] = times(3, word);
      return { length, firstRow, rows };
    });
  const [sortedIds, columns] = [pages(sortedPages), pages(columnPages)];
  const ids = times(idBlocks, () => ({ length: word(), firstWord: word() }));
  const texts = utf8.decode(footer.subarray(footer.length - textBytes));
  const { paths, firstIds, spilled, terms, expiries } = JSON.parse(texts) as {
    paths: (string | null)[][];
    firstIds: string[];
    spilled?: number[];
    terms?: TermsOfFooter;
    expiries?: [number, number][];
  };

  let at = 76;
  let number = 0;
  const next = ({ length }: { readonly length: number }) => {
    at += length;
    return open(number++, bytes.subarray(at - length, at));
  };
  const keepsVectors = ref.model === undefined || definition.config.type === "ivfflat";
  const rows: Pick<ReadItem, "vector" | "reference">[] = [];
  const fingerprints: string[] = [];
  for (const block of codes) {
    const plaintext = next(block);
    const codesOfRows = plaintext.subarray(16 * block.rows);
    if (keepsVectors) {
      const rowBytes = bytesOfVector(dimension, definition.config.precision);
      const pruning = ref.model === undefined ? 0 : 12 + 8 * Math.ceil(dimension / 64);
      if (codesOfRows.length !== block.rows * (rowBytes + pruning))
        throw new Error("segment: a code block of another length");
    }
    for (let i = 0; i < block.rows; i++) {
      const vector = keepsVectors
        ? vectorOf(codesOfRows, { row: i, n: block.rows }, dimension, definition.config.precision)
        : undefined;
      const reference = keepsVectors ? undefined : words(codesOfRows.subarray(4 * i))();
      rows.push({ vector, reference });
      fingerprints.push(hex(plaintext.subarray(16 * i, 16 * i + 16)));
    }
  }
  const rowsInSecondLists = checkSecondLists(
    (spilled ?? []).map((length) => next({ length })),
    codes.flatMap((block, i) => times(block.rows, () => radii[i].list)),
  );
  const recordParts = records.flatMap((page) => parts(next(page), page.rows));
  const contentParts = contents.flatMap((page) => parts(next(page), page.rows));
  const found = terms && readWords(terms, rowCount, next);
  const idParts = sortedIds.flatMap((page, i) => {
    const inOrder = parts(next(page), page.rows).map((part) => utf8.decode(part?.subarray(16)));
    if (inOrder[0] !== firstIds[i]) throw new Error("segment: a page of ids begins with another id");
    return inOrder;
  });
  columns.forEach((page, i) => {
    parts(next(page), paths[i].length).forEach((column, j) =>
      countValues(values, paths[i][j], column, page.rows),
    );
  });
  const expiring = (expiries ?? []).flatMap(([length, firstTime]) => {
    const plaintext = next({ length });
    const page = times(plaintext.length / 24, (i) => {
      const view = new DataView(plaintext.buffer, plaintext.byteOffset + 24 * i, 24);
      return {
        time: view.getFloat64(0, true),
        fingerprint: hex(plaintext.subarray(24 * i + 8, 24 * i + 24)),
      };
    });
    if (page[0].time !== firstTime) throw new Error("segment: expiries begin with another time");
    return page;
  });
  const entries = ids.flatMap((block) => {
    const plaintext = next(block);
    const entry = words(plaintext);
    return times(plaintext.length / 20, (i) => {
      const fingerprint = hex(plaintext.subarray(20 * i, 20 * i + 16));
      times(4, entry);
      const row = entry();
      return { fingerprint, row: row === 0xffffffff ? undefined : row };
    });
  });
  if (number !== ref.blocks - 1) throw new Error("segment: another number of blocks than the manifest says");
  if (rows.length !== rowCount || rowCount !== ref.rows) throw new Error("segment: another number of rows");
  const read = rows.map((own, row): ReadItem => {
    const record = recordParts[row];
    if (record === null) throw new Error("segment: a row without a record");
    const expires = record[1] >= 128;
    const idLength = record[0] + 256 * (record[1] % 128);
    const idBytes = record.subarray(2, 2 + idLength);
    const made = hmac(sha256, idKey, idBytes)
      .subarray(0, 16)
      .map((byte, i) => byte ^ namespaceId[i]);
    const metadataAt = 2 + idLength + (expires ? 8 : 0);
    const time = new DataView(record.buffer, record.byteOffset + 2 + idLength);
    if (hex(made) !== fingerprints[row]) throw new Error("segment: a fingerprint is not that of the id");
    const text = contentParts[row];
    return {
      id: utf8.decode(idBytes),
      metadata: JSON.parse(utf8.decode(record.subarray(metadataAt))),
      expiresAt: expires ? time.getFloat64(0, true) : undefined,
      contents: text === null ? null : utf8.decode(text),
      ...own,
      terms: found?.termsOf[row] ?? new Map<string, number>(),
      length: found?.lengths[row] ?? 0,
    };
  });
  const ties = fingerprints.map((fingerprint) => fingerprint.slice(0, 8));
  if (found !== undefined && JSON.stringify(found.ties) !== JSON.stringify(ties))
    throw new Error("segment: keys of rows are not their fingerprints'");
  const ofRecords = read.flatMap(({ expiresAt }, row) =>
    expiresAt === undefined ? [] : [{ time: expiresAt, fingerprint: fingerprints[row] }],
  );
  if (JSON.stringify(ofRecords.sort((a, b) => a.time - b.time)) !== JSON.stringify(expiring))
    throw new Error("segment: its expiries are not those of its records");
  const inOrder = read.map(({ id }) => id).sort();
  if (JSON.stringify(inOrder) !== JSON.stringify(idParts))
    throw new Error("segment: its sorted ids are wrong");
  const blocks = codes.map((block, i) => ({ rows: block.rows, ...radii[i] }));
  return { rows: read, entries, rowsInSecondLists, blocks };
}

/** §4, footer: no row is farther from its list's centroid than its block says. */
function checkRadii(
  { rows, blocks }: ReturnType<typeof readSegment>,
  { centroids, dimension }: ReadModel,
  areDirections: boolean,
): void {
  let row = 0;
  for (const block of blocks) {
    const centroid = centroids.subarray(block.list * dimension, (block.list + 1) * dimension);
    for (const end = row + block.rows; row < end; row++) {
      const vector = rows[row].vector ?? [];
      const length = areDirections ? Math.hypot(...vector) || 1 : 1;
      const distance = Math.hypot(...vector.map((value, i) => value / length - centroid[i]));
      // Writers compute directions in float32.
      if (distance > block.radius + 1e-6 * Math.hypot(...centroid))
        throw new Error(`segment: row ${row} is farther from its centroid than its block says`);
    }
  }
}

/** §4, second lists: one for each row, and not its own. */
function checkSecondLists(blocks: readonly Uint8Array[], lists: readonly number[]): number {
  if (blocks.length === 0) return 0;
  const bytes = concat(...blocks);
  if (bytes.length !== 2 * lists.length) throw new Error("segment: second lists are not of each row");
  const isOwn = (list: number, row: number) => bytes[2 * row] + 256 * bytes[2 * row + 1] === list;
  if (lists.some(isOwn)) throw new Error("segment: a second list is the first one");
  return lists.length;
}

interface TermsOfFooter {
  readonly texts: number;
  readonly length: number;
  readonly lengthBytes: number;
  readonly lengths: readonly (readonly [number, number, number])[];
  readonly postings: readonly number[];
  readonly dictionary: readonly (readonly [number, string])[];
}

/** §4, words: of each row how often it has each term. */
function readWords(
  { texts, length, lengthBytes, lengths, postings, dictionary }: TermsOfFooter,
  rowCount: number,
  next: (block: { readonly length: number }) => Uint8Array,
) {
  const ofRows: number[] = [];
  const ties: string[] = [];
  for (const [sealed, , rows] of lengths) {
    const plaintext = next({ length: sealed });
    for (let i = 0; i < rows; i++) {
      const own = plaintext.subarray(i * lengthBytes, (i + 1) * lengthBytes);
      ofRows.push(own.reduceRight((sum, byte) => 256 * sum + byte, 0));
      ties.push(hex(plaintext.subarray(rows * lengthBytes + 4 * i, rows * lengthBytes + 4 * i + 4)));
    }
  }
  if (ofRows.filter((each) => each > 0).length !== texts) throw new Error("words: another number of texts");
  if (ofRows.reduce((sum, each) => sum + each, 0) !== length) throw new Error("words: another length");
  const stream = concat(...postings.map((sealed) => next({ length: sealed })));
  const termsOf = times(rowCount, () => new Map<string, number>());
  for (const [sealed, firstTerm] of dictionary) {
    const page = varints(next({ length: sealed }), 0);
    const [terms, firstStart] = [page.next(), page.next()];
    page.next(); // the end of the last list
    let start = firstStart;
    let before: Uint8Array = new Uint8Array();
    times(terms, (i) => {
      const [both] = page.take(1);
      const [shared, own] = both === 0 ? page.take(2) : [both >> 4, both & 15];
      if (i % 16 === 0 && shared > 0) throw new Error("words: a sixteenth term is not whole");
      before = concat(before.subarray(0, shared), page.take(own));
      const term = utf8.decode(before);
      if (i === 0 && term !== firstTerm) throw new Error("words: a page begins with another term");
      const rows = page.next();
      start += page.next();
      const frequencyMax = rows % 2 === 1 ? page.next() : 1;
      const lengthMin = page.next();
      const hasHeads = Math.floor(rows / 2) % 2 === 1;
      const list = readPostings(stream, start, Math.floor(rows / 4), hasHeads);
      for (const [row, frequency] of list) termsOf[row].set(term, frequency);
      const bounds = [
        Math.max(...list.map(([, each]) => each)),
        Math.min(...list.map(([row]) => ofRows[row])),
      ];
      if (bounds[0] !== frequencyMax || bounds[1] !== lengthMin) throw new Error("words: wrong bounds");
    });
  }
  return { lengths: ofRows, ties, termsOf };
}

/** §4, postings: rows, each with the term's frequency. */
function readPostings(stream: Uint8Array, start: number, count: number, hasHeads: boolean) {
  const found: [number, number][] = [];
  const read = varints(stream, start);
  for (let row = -1; found.length < count;) {
    let rows = count;
    let lastRow: number | undefined;
    let end: number | undefined;
    if (hasHeads) {
      if (read.at() % 32764 === 0 || stream[read.at()] === 0) read.goTo(Math.ceil(read.at() / 32764) * 32764);
      lastRow = row + read.next();
      rows = read.next();
      read.next(); // greatest frequency
      read.next(); // least length
      const bytes = read.next();
      end = read.at() + bytes;
    }
    const bits = bitsOf(stream, 8 * read.at());
    const isSingle = bits.take(1) === 1;
    const hasPositions = bits.take(1) === 1;
    const gaps = bits.vector(rows);
    const frequencies = isSingle ? gaps.map(() => 1) : bits.vector(rows).map((value) => value + 1);
    if (hasPositions) {
      const left = isSingle ? gaps.map(() => 0) : bits.vector(rows);
      const counts = frequencies.map((frequency, i) => frequency - left[i]);
      bits.vector(counts.reduce((sum, each) => sum + each, 0)); // positions
      if (counts.some((each) => each > 4095)) throw new Error("words: too many positions of a row");
    }
    gaps.forEach((gap, i) => found.push([(row += gap + 1), frequencies[i]]));
    if (lastRow !== undefined && row !== lastRow) throw new Error("words: another last row");
    if (end !== undefined && Math.ceil(bits.at() / 8) !== end)
      throw new Error("words: another length of a block");
    if (end !== undefined) read.goTo(end);
  }
  return found;
}

/** Bits from the lowest one of a byte on. */
function bitsOf(bytes: Uint8Array, from: number) {
  let at = from;
  const take = (count: number) => {
    let value = 0;
    for (let i = 0; i < count; i++, at++) value += ((bytes[at >> 3] >> (at & 7)) & 1) * 2 ** i;
    return value;
  };
  const vector = (count: number) => {
    const lowBits = take(5);
    const hasHigh = take(1) === 1;
    const values = times(count, () => take(lowBits));
    if (!hasHigh) return values;
    return values.map((low) => {
      let high = 0;
      while (take(1) === 0) high++;
      return high * 2 ** lowBits + low;
    });
  };
  return { at: () => at, take, vector };
}

function varints(bytes: Uint8Array, from: number) {
  let at = from;
  return {
    at: () => at,
    goTo: (to: number) => (at = to),
    take: (length: number) => bytes.subarray(at, (at += length)),
    next: () => {
      let value = 0;
      for (let factor = 1; ; factor *= 128) {
        const byte = bytes[at++];
        value += (byte % 128) * factor;
        if (byte < 128) return value;
      }
    },
  };
}

/** §4, metadata columns: adds up how many rows reach each value. */
function countValues(
  values: Map<string, Map<string, number>>,
  path: string | null,
  column: Uint8Array | null,
  rows: number,
): void {
  if (column === null) throw new Error("column: absent");
  const valuesLength = words(column)();
  const held = JSON.parse(utf8.decode(column.subarray(4, 4 + valuesLength))) as unknown[];
  const sizesAt = 4 + valuesLength;
  const sets = 3 + held.length;
  let at = sizesAt + 2 * sets;
  const sizes = times(sets, (i) => {
    const n = column[sizesAt + 2 * i] + 256 * column[sizesAt + 2 * i + 1];
    at += 2 * n <= Math.ceil(rows / 8) ? 2 * n : Math.ceil(rows / 8);
    return n;
  });
  if (at !== column.length) throw new Error("column: another length than its sets have");
  if (path === null) return;
  const counts = values.get(path) ?? new Map<string, number>();
  values.set(path, counts);
  held.forEach((value, i) => {
    const key = JSON.stringify(value);
    counts.set(key, (counts.get(key) ?? 0) + sizes[3 + i]);
  });
}

/** §6: as far as the centroids. */
function readModel(bytes: Uint8Array, ref: ObjectRef, { indexId, data }: Keys): ReadModel {
  same(bytes.subarray(0, 76), fromBase64(ref.header), "header of the model");
  const plaintext = openObject(data, "model", indexId, ref.name, bytes)(0, bytes.subarray(76));
  const [kind, dimension, lists, limits, depths, values] = times(7, words(plaintext));
  const start = 4 * (7 + limits + depths + values + lists);
  const precisions = [...plaintext.subarray(start, start + lists)];
  const centroids = new Float32Array(lists * dimension);
  let at = start + lists;
  for (const [number, precision] of [undefined, "float16", "int8"].entries()) {
    const own = precisions.flatMap((each, list) => (each === number ? [list] : []));
    const n = own.length;
    own.forEach((list, row) =>
      centroids.set(vectorOf(plaintext.subarray(at), { row, n }, dimension, precision), list * dimension),
    );
    at += n * [4 * dimension, 4 + 2 * dimension, 4 + dimension][number];
  }
  return { kind, dimension, lists, centroids };
}

/** §2: opens blocks of an object by number. */
function openObject(
  parents: ReadonlyMap<number, Uint8Array>,
  kind: keyof typeof kinds,
  indexId: Uint8Array,
  name: string,
  bytes: Uint8Array,
): (number: number, sealed: Uint8Array) => Uint8Array {
  const header = bytes.slice(0, 76);
  const generation = header.subarray(8, 12);
  same(
    header.subarray(0, 12),
    concat(ascii("SLDX"), Uint8Array.of(2, kinds[kind], 0, 0), generation),
    "header",
  );
  const parent = parents.get(generation.reduce((sum, byte) => 256 * sum + byte, 0));
  if (parent === undefined) throw new Error(`${name}: there is no key of its generation`);
  const context = concat(Uint8Array.of(kinds[kind]), indexId, ascii(name));
  const derived = derive(parent, header.subarray(12, 44), "sealdex/1/object", context, 64);
  same(derived.subarray(32), header.subarray(44), "key commitment");
  return (number, sealed) => {
    const nonce = concat(new Uint8Array(8), bigEndian(number));
    const padded = gcm(derived.subarray(0, 32), nonce, concat(header, bigEndian(number))).decrypt(sealed);
    const zeros = new DataView(padded.buffer, padded.byteOffset + padded.length - 4).getUint32(0, true);
    const end = padded.length - 4 - zeros;
    if (padded.length !== padme(end + 4)) throw new Error(`${name}: block ${number} has another padding`);
    return padded.subarray(0, end);
  };
}

/** §2: a length with few significant bits, by the definition of Padmé, with masks. */
function padme(length: number): number {
  const exponent = Math.floor(Math.log2(length));
  const lastBits = exponent - Math.floor(Math.log2(exponent)) - 1;
  const mask = 2 ** Math.max(lastBits, 0) - 1;
  return length + ((mask - ((length - 1) & mask)) & mask);
}

function derive(
  key: Uint8Array,
  salt: Uint8Array,
  label: string,
  context: Uint8Array,
  length: number,
): Uint8Array {
  return hkdf(sha256, key, salt, concat(ascii(label), Uint8Array.of(0), context), length);
}

/** The parts of a page: u32 lengths, then the parts; null where there is none. */
function parts(page: Uint8Array, count: number): (Uint8Array | null)[] {
  const width = page[0];
  const lengths = times(count, (i) =>
    page.subarray(1 + width * i, 1 + width * (i + 1)).reduceRight((sum, byte) => 256 * sum + byte, 0),
  );
  let at = 1 + width * count;
  return lengths.map((length) => {
    if (length === 256 ** width - 1) return null;
    at += length;
    return page.subarray(at - length, at);
  });
}

function words(bytes: Uint8Array): () => number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  return () => {
    at += 4;
    return view.getUint32(at - 4, true);
  };
}

function floatOf(bits: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, bits);
  return view.getFloat32(0);
}

function floats(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

/** The vector of a row of a block of n rows. */
function vectorOf(
  codes: Uint8Array,
  { row, n }: { readonly row: number; readonly n: number },
  dimension: number,
  precision: unknown,
): readonly number[] {
  if (precision === undefined)
    return [...floats(codes.subarray(4 * dimension * row, 4 * dimension * (row + 1)))];
  const [scale] = floats(codes.subarray(4 * row, 4 * row + 4));
  const view = new DataView(codes.buffer, codes.byteOffset + 4 * n, codes.length - 4 * n);
  return times(dimension, (i) => {
    const component = row * dimension + i;
    return (
      scale * (precision === "int8" ? view.getInt8(component) : float16(view.getUint16(2 * component, true)))
    );
  });
}

/** Of a row, with its scale. */
function bytesOfVector(dimension: number, precision: unknown): number {
  if (precision === undefined) return 4 * dimension;
  return 4 + (precision === "int8" ? dimension : 2 * dimension);
}

/** The value of an IEEE 754 binary16. */
function float16(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = (bits & 1023) / 1024;
  const magnitude = exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15);
  return bits >> 15 ? -magnitude : magnitude;
}

function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function first(stored: Stored, prefix: string): string {
  const [name] = [...stored.keys()].filter((key) => key.startsWith(prefix)).sort();
  if (name === undefined) throw new Error(`nothing is stored below ${prefix}`);
  return name;
}

function needed(stored: Stored, name: string): Uint8Array {
  const bytes = stored.get(name);
  if (bytes === undefined) throw new Error(`${name} is missing`);
  return bytes;
}

function same(a: Uint8Array, b: Uint8Array, what: string): void {
  if (hex(a) !== hex(b)) throw new Error(`${what}: not what docs/internals/format.md says`);
}

function countDown(version: number): string {
  return String(versionMax - version).padStart(16, "0");
}

function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups
    .map((group) => "0123456789abcdefghijklmnopqrstuv"[Number.parseInt(group.padEnd(5, "0"), 2)])
    .join("");
}

function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function bigEndian(number: number): Uint8Array {
  return Uint8Array.of(number >>> 24, number >>> 16, number >>> 8, number);
}

function concat(...arrays: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(arrays.flatMap((array) => [...array]));
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
