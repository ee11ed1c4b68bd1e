/**
 * The stored fields: the values of each, the file that checks them, and a function that changes it.
 * The lists in docs/internals/format.md, the test of the checks and the damages of the fuzz follow
 * from them.
 */

import { openManifest } from "../../src/state/commit/stored-manifest.js";
import { AnchorStore } from "../../src/state/commit/anchored-history.js";
import type { IndexIdentity } from "../../src/state/commit/index-folder.js";
import { GroupSecrets } from "../../src/state/commit/group-secrets.js";
import { NamespaceSecrets } from "../../src/state/commit/namespaces.js";
import { fingerprint } from "../../src/crypto/keys.js";
import { readReceipt } from "../../src/index/namespaces.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { storeOf } from "../security/world.js";
import { storedDefinition } from "../../src/index/open/stored-definition.js";
import { codecToRead } from "../../src/engine/scan/choose-codec.js";
import type { Model } from "../../src/engine/model.js";
import { decodeModel } from "../../src/state/segment/stored-model.js";
import { decodeKeyset } from "../../src/keys/keyset.js";
import { ColumnPage } from "../../src/state/segment/columns.js";
import { ExpiryPage } from "../../src/state/segment/expiries.js";
import { decodeFooter, type Footer } from "../../src/state/segment/footer.js";
import { IdPage, OpenIdTable, PostingChunk } from "../../src/state/segment/opened-blocks.js";
import { Page } from "../../src/state/segment/page.js";
import {
  contentEntries,
  decodeContents,
  recordEntries,
  recordId,
  recordMetadata,
} from "../../src/state/segment/row.js";
import { openSortedIds } from "../../src/state/segment/sorted-ids.js";
import { openTermPage, openTextRows } from "../../src/state/segment/words/term-reader.js";
import { endOfRows, PostingCursor } from "../../src/text/posting-cursor.js";
import { chunkBytes } from "../../src/text/postings.js";
import { blockEntries, encodeRawFooter, type SectionName } from "./raw-footer.js";
import { type Json, rawJson, type SegmentParts, type StoredParts } from "./stored-parts.js";

export const storedObjects = [
  "manifest",
  "keyset",
  "model",
  "footer",
  "codes",
  "records",
  "contents",
  "lengths",
  "postings",
  "dictionary",
  "sorted ids",
  "columns",
  "expiries",
  "id table",
  "secret of a namespace",
  "secret of a group",
  "anchor",
  "receipt of an erasure",
] as const;
export type StoredObject = (typeof storedObjects)[number];

export interface Field {
  readonly object: StoredObject;
  readonly field: string;
  /** Its values, for people; in parentheses if they follow from the layout, which the lists do not repeat. */
  readonly range: string;
  /** The file of src/ that checks it. */
  readonly checkedIn: string;
  /** Values at the borders of the range, within it. */
  readonly accepted: (parts: StoredParts) => readonly unknown[];
  /** The same, beyond it. */
  readonly refused: (parts: StoredParts) => readonly unknown[];
  /** Gives the field a value. */
  set(parts: StoredParts, value: unknown): void;
  /** Whether only indexes whose rows are codes have it. */
  readonly isOfCodes?: boolean;
}

type Values = Field["accepted"] | readonly unknown[];

const inParts = (values: Values) => (typeof values === "function" ? values : () => values);

/** Values of other types than a field has. */
const otherTypes = [null, "x", [], {}, true, rawJson("1e999"), rawJson("-0.5")];
const notNumbers = [...otherTypes, -1, 0.5, 2 ** 53, 1e308];

function jsonField(
  object: "manifest" | "keyset" | "receipt of an erasure",
  field: string,
  range: string,
  accepted: Values,
  refused: Values,
  checkedIn?: string,
): Field {
  const files = {
    manifest: "state/commit/stored-manifest.ts",
    keyset: "keys/keyset.ts",
    "receipt of an erasure": "index/namespaces.ts",
  };
  return {
    object,
    field,
    range,
    checkedIn: checkedIn ?? files[object],
    accepted: inParts(accepted),
    refused: inParts(refused),
    set: (parts, value) =>
      setAt(object === "receipt of an erasure" ? parts.receipt : parts[object], field, value),
  };
}

/** The steps of `a.b[].c`, of the first element of a list. */
const stepsOf = (path: string) => path.replaceAll("[]", ".0").split(".");

const valueAt = (document: object, path: string) =>
  stepsOf(path).reduce((at, step) => at[step] as Json, document as Json) as unknown;

/** A list that is missing gets one. */
function setAt(document: Json, path: string, value: unknown): void {
  const steps = stepsOf(path);
  let at = document;
  for (const step of steps.slice(0, -1)) at = at[step] ??= {};
  at[steps[steps.length - 1]] = value;
}

/** A name that another of the same kind, and of any version, has not. */
const shortNameOf = (born: number) => `${born}-${"_".repeat(21)}w`;
const names = (parts: StoredParts) => [
  ...otherTypes,
  shortNameOf(0).slice(1),
  shortNameOf(parts.opened.version),
  `0${shortNameOf(0)}`,
  `${shortNameOf(0)}_`,
  `0-${"_".repeat(22)}`,
  "__proto__",
];

const firstOf = (parts: StoredParts, column: string) => parts.manifest.segments[column][0];
const base64Of = (bytes: number) => Buffer.alloc(bytes).toString("base64");
const versionOf = ({ opened }: StoredParts) => opened.version;

const ofObject =
  (object: Parameters<typeof jsonField>[0]) =>
  (field: string, range: string, accepted: Values, refused: Values, checkedIn?: string) =>
    jsonField(object, field, range, accepted, refused, checkedIn);
const ofManifest = ofObject("manifest");
const ofKeyset = ofObject("keyset");
const naming = "state/commit/object-names.ts";
const retention = "state/commit/retention.ts";

const watermarkFields = ["history", "uploads"].flatMap((name) => [
  ofManifest(
    `${name}.floor`,
    "1..next",
    (parts) => [1, parts.manifest[name].next],
    (parts) => [...notNumbers, 0, parts.manifest[name].next + 1],
    retention,
  ),
  ofManifest(
    `${name}.next`,
    "floor..version",
    (parts) => [parts.manifest[name].floor, versionOf(parts)],
    (parts) => [...notNumbers, 0, versionOf(parts) + 1],
    retention,
  ),
  ofManifest(`${name}.since`, "0..8.64e15", [0, 0.5, 8.64e15], [...otherTypes, -1, 8.65e15], retention),
]);

const namespaceOf = (digits: number, erasures: number) =>
  `${"0".repeat(digits)}-${erasures}-${"0".repeat(32)}`;

/** The members of a header besides its kind. */
function pinFields(generation: string, pin: string): Field[] {
  return [
    ofManifest(generation, "1..2^31", [1, 2 ** 31], [...notNumbers, 0, 2 ** 31 + 1]),
    ofManifest(pin, "64 bytes, base64", [base64Of(64)], [...otherTypes, base64Of(63), base64Of(65)]),
  ];
}

/** Of a collection: a manifest of two shards, without segments. */
function ofCollection(
  field: string,
  range: string,
  accepted: readonly unknown[],
  refused: readonly unknown[],
): Field {
  return {
    ...ofManifest(field, range, accepted, refused),
    set({ manifest }, value) {
      for (const name of ["model", "namespaces", "models"]) delete manifest[name];
      manifest.segments = {};
      manifest.droppedObjects = [];
      manifest.shardSecrets = [base64Of(32)];
      manifest.shards = {
        from: [0, 1],
        indexId: ["0".repeat(32), "1".repeat(32)],
        version: [1, 1],
        digest: ["0".repeat(64), "0".repeat(64)],
      };
      manifest.spareShards = { ...manifest.shards, from: [0, 7], indexId: ["8".repeat(32), "9".repeat(32)] };
      setAt(manifest, field, value);
    },
  };
}

const manifestFields: readonly Field[] = [
  ofManifest(
    "version",
    "(that of its name)",
    (parts) => [versionOf(parts)],
    (parts) => [...notNumbers, versionOf(parts) + 1],
  ),
  ofManifest(
    "previous",
    "(32 bytes, hexadecimal; empty in version 1)",
    ["0".repeat(64)],
    [...otherTypes, "", "g".repeat(64)],
  ),
  ofManifest("keyGeneration", "(that of its header)", (parts) => [parts.manifest.keyGeneration], [
    ...notNumbers,
    2 ** 31,
  ]),
  ofManifest("dropped", "(a boolean)", [true, false], [null, 0, "x"]),
  ofManifest("dimension", "1..8192", [1, 8192], [...notNumbers, 0, 8193]),
  ofManifest("model.name", "born before this version", [shortNameOf(0)], names, naming),
  ...pinFields("model.generation", "model.pin"),
  ofManifest("model.length", "92..2^48", [92, 2 ** 48], [...notNumbers, 91, 2 ** 48 + 1]),
  ofManifest("model.items", "1..2^48", [1, 2 ** 48], [...notNumbers, 0]),
  ofManifest(
    "namespaces",
    "counts up to erasures, one per handle",
    [[namespaceOf(32, 0)]],
    [
      ...otherTypes,
      [],
      [namespaceOf(32, 2 ** 48)],
      [namespaceOf(31, 0)],
      ["0".repeat(32)],
      [namespaceOf(32, 0), namespaceOf(32, 0)],
      [namespaceOf(32, 0), `1${namespaceOf(31, 0)}`],
    ],
  ),
  ofManifest(
    "models",
    "(short names, in the order of segments)",
    [[shortNameOf(0)]],
    (parts) => [...names(parts).map((name) => [name]), [], [shortNameOf(0), shortNameOf(0)]],
    naming,
  ),
  ofManifest("segments", "(lists of one length)", [], (parts) => [
    null,
    "x",
    [],
    {},
    { ...parts.manifest.segments, name: [] },
    { ...parts.manifest.segments, other: [] },
    { name: parts.manifest.segments.name },
  ]),
  ofManifest("segments.name[]", "like model.name, each once", [shortNameOf(0)], names, naming),
  ...pinFields("segments.generation[]", "segments.pin[]"),
  ofManifest("segments.length[]", "20(rows+deleted)..2^48", [2 ** 48], [...notNumbers, 91]),
  ofManifest("segments.sequence[]", "previous segment's..2^48", [1], [...notNumbers, 0, 2 ** 48 + 1]),
  ofManifest(
    "segments.rows[]",
    "sum at most length/20",
    (parts) => [0, Math.floor(firstOf(parts, "length") / 20) - firstOf(parts, "deleted")],
    (parts) => [...notNumbers, Math.floor(firstOf(parts, "length") / 20) + 1, 2 ** 32 - 1],
  ),
  ofManifest("segments.deleted[]", "sum at most length/20", [0], (parts) => [
    ...notNumbers,
    Math.floor(firstOf(parts, "length") / 20) + 1,
  ]),
  ofManifest(
    "segments.blocks[]",
    "1..length/16",
    (parts) => [1, Math.floor(firstOf(parts, "length") / 16)],
    (parts) => [...notNumbers, 0, Math.floor(firstOf(parts, "length") / 16) + 1],
  ),
  ofManifest(
    "segments.footerLength[]",
    "16..length-76",
    (parts) => [16, firstOf(parts, "length") - 76],
    (parts) => [...notNumbers, 15, firstOf(parts, "length") - 75],
  ),
  ofManifest("segments.namespace[]", "(null or an index into namespaces)", [], (parts) => [
    ...notNumbers.filter((value) => value !== null),
    parts.manifest.namespaces?.length ?? 0,
  ]),
  ofManifest("segments.model[]", "(null or an index into models)", [], (parts) => [
    ...notNumbers.filter((value) => value !== null),
    parts.manifest.models?.length ?? 0,
  ]),
  ofManifest(
    "droppedObjects",
    "each once, not named",
    [[], [`segment/${shortNameOf(0)}`, `model/${shortNameOf(0)}`]],
    (parts) => [
      "x",
      null,
      {},
      ["x"],
      [`segment/${firstOf(parts, "name")}`],
      [`segment/${shortNameOf(0)}`, `segment/${shortNameOf(0)}`],
      [`manifest/${shortNameOf(0)}`],
      [shortNameOf(0)],
    ],
    naming,
  ),
  ...watermarkFields,
  ofManifest("erasures", "1..2^48", [1, 2 ** 48], [...notNumbers, 0]),
  ofManifest(
    "reservation",
    "holder: 16 bytes, hexadecimal; ms: 0..10000",
    [{ holder: "0".repeat(32), ms: 0 }],
    [
      ...otherTypes,
      { holder: "0".repeat(32), ms: 10_001 },
      { holder: "0".repeat(32), ms: 1e308 },
      { holder: "0".repeat(32), ms: -1 },
      { holder: "again", ms: 1 },
    ],
  ),
  ofCollection(
    "shards",
    "1..4096; no segments, no model",
    [{ from: [0], indexId: ["0".repeat(32)], version: [1], digest: ["0".repeat(64)] }],
    [...otherTypes, { from: [0] }, { from: [0], indexId: [], version: [1], digest: ["0".repeat(64)] }],
  ),
  ofCollection(
    "shards.from",
    "0, ascending to 2^32-1",
    [[0, 2 ** 32 - 1]],
    [[1, 2], [0, 0], [0, 2 ** 32], [0], ...notNumbers.map((value) => [0, value])],
  ),
  ofCollection(
    "shards.indexId",
    "16 bytes, hexadecimal, each once",
    [["0".repeat(32), "2".repeat(32)]],
    [
      ["0".repeat(32), "0".repeat(32)],
      ...[...otherTypes, "0".repeat(31)].map((value) => [value, "1".repeat(32)]),
    ],
  ),
  ofCollection("shards.version[]", "1..2^48", [1, 2 ** 48], [...notNumbers, 0, 2 ** 48 + 1]),
  ofCollection(
    "shards.digest[]",
    "32 bytes, hexadecimal",
    ["f".repeat(64)],
    [...otherTypes, "0".repeat(63), "g".repeat(64)],
  ),
  ofCollection(
    "shards.suffix",
    "8 bytes, hexadecimal, or null",
    [["0".repeat(16), null]],
    [...otherTypes, "0".repeat(15), "g".repeat(16)]
      .filter((value) => value !== null)
      .map((value) => [value, null]),
  ),
  ofCollection(
    "spareShards",
    "as shards, in any order",
    [
      { from: [0], indexId: ["2".repeat(32)], version: [1], digest: ["0".repeat(64)] },
      {
        from: [7, 0],
        indexId: ["2".repeat(32), "3".repeat(32)],
        version: [1, 1],
        digest: ["0".repeat(64), "0".repeat(64)],
      },
    ],
    [
      ...otherTypes,
      { from: [0] },
      { from: [], indexId: [], version: [], digest: [] },
      { from: [0], indexId: ["1".repeat(32)], version: [1], digest: ["0".repeat(64)] },
      { from: [2 ** 32], indexId: ["2".repeat(32)], version: [1], digest: ["0".repeat(64)] },
    ],
  ),
  ofCollection(
    "spareShards.retired",
    "0..version or null",
    [
      [0, 1],
      [null, 0],
    ],
    [...notNumbers, -1, 2 ** 48].filter((value) => value !== null).map((value) => [0, value]),
  ),
  ofCollection(
    "shardSecrets",
    "1..2 of 32 bytes, base64",
    [[base64Of(32)], [base64Of(32), base64Of(32)]],
    [
      ...otherTypes,
      undefined,
      [],
      [base64Of(31)],
      [base64Of(33)],
      [base64Of(32), base64Of(31)],
      Array.from({ length: 3 }, () => base64Of(32)),
    ],
  ),
  ofManifest("anything else", "absent", [], [1, null]),
];

const keysetFields: readonly Field[] = [
  ofKeyset(
    "name",
    "at most 128 characters",
    ["", "x".repeat(128)],
    [...otherTypes.filter((value) => value !== "x"), "x".repeat(129)],
  ),
  ofKeyset(
    "access",
    "owner (has members), read-write, read-only (have none)",
    ["owner"],
    [...otherTypes, "read-only", "read-write"],
  ),
  ofKeyset("expiresAt", "0..8.64e15", [0, 8.64e15], [...notNumbers, 8.64e15 + 2]),
  ofKeyset(
    "generations",
    "number: 1..2^31, ascending; since: 1..2^48",
    ({ keyset }) => [keyset.generations],
    [
      ...otherTypes,
      [1],
      [{ number: 1, since: 1 }, { number: 2 }],
      [{ number: 0, since: 1 }],
      [{ number: 2 ** 31 + 1, since: 1 }],
      [{ number: 1, since: 0 }],
      [{ number: 1, since: 0.5 }],
      [
        { number: 1, since: 1 },
        { number: 1, since: 1 },
      ],
    ],
  ),
  ofKeyset("reencrypting", "1..2^31", [1, 2 ** 31], [...notNumbers, 0, 2 ** 31 + 1]),
  ofKeyset(
    "members",
    "1 or more, with a key each",
    ({ keyset }) => [keyset.members],
    ({ keyset }) => [...otherTypes, [...keyset.members, ...keyset.members]],
  ),
  ofKeyset(
    "members[].keyCheck",
    "32 bytes, base64",
    [base64Of(32)],
    [...otherTypes, base64Of(31), base64Of(33)],
  ),
  ...definitionFields(),
];

function definitionFields(): Field[] {
  const own = (field: string, range: string, accepted: Values, refused: Values) =>
    ofKeyset(`definition.${field}`, range, accepted, refused, "index/open/stored-definition.ts");
  const text = {
    analyzer: { version: 1, language: "none", stemming: true, stopWords: true },
    fields: [{ path: "contents", weight: 1 }],
    k1: 1,
    b: 1,
  };
  return [
    own(
      "config.type",
      "a type; only ivfpq: pqDim, pqBits; only ivfflat: precision, spilling",
      [],
      [...otherTypes, "hnsw"],
    ),
    own("config.metric", "a metric", ["cosine", "euclidean", "squared_euclidean"], [...otherTypes, "dot"]),
    own("config.dimension", "1..8192, a multiple of pqDim", [8192], [...notNumbers, 0, 8193]),
    own("config.nLists", "1..65536", [1, 65_536], [...notNumbers, 0, 65_537]),
    own("config.precision", "(float16 or int8)", [], [...otherTypes, "float32"]),
    own("config.spilling", "(false)", [], [true, null, 0]),
    own("config.pqDim", "1..8192", [], [...notNumbers, 0, 8193]),
    own("config.pqBits", "1..16", [], [...notNumbers, 0, 17]),
    own(
      "model",
      "name: text; sample: 1..8192 bytes, base64",
      [{ sample: base64Of(1) }, { name: "x", sample: base64Of(8192) }],
      [...otherTypes, { sample: "" }, { sample: base64Of(8193) }, { name: 1, sample: base64Of(1) }],
    ),
    own(
      "text",
      "fields: 1..32, of 256 characters, weights 1..16; k1: 0..10; b: 0..1; analyzer: version 1",
      [text, { ...text, k1: 10, b: 0 }, { ...text, analyzer: { ...text.analyzer, stopWords: ["a"] } }],
      [
        ...otherTypes,
        { ...text, k1: 10.5 },
        { ...text, b: 1.5 },
        { ...text, fields: [] },
        { ...text, fields: [{ path: "contents", weight: 0 }] },
        { ...text, fields: [{ path: "contents", weight: 17 }] },
        { ...text, fields: [{ path: "x".repeat(257), weight: 1 }] },
        { ...text, analyzer: { ...text.analyzer, version: 2 } },
        { ...text, analyzer: { ...text.analyzer, language: "latin" } },
        { ...text, analyzer: { ...text.analyzer, stopWords: [1] } },
      ],
    ),
  ];
}

/** A word of the model. */
function modelField(field: string, at: number, range: string, refused: Values): Field {
  return {
    object: "model",
    field,
    range,
    checkedIn: "state/segment/stored-model.ts",
    accepted: ({ models }) => [models[0].plaintext.readUInt32LE(at)],
    refused: inParts(refused),
    set({ models }, value) {
      models[0].isChanged = true;
      models[0].plaintext.writeUInt32LE(value as number, at);
    },
  };
}

const others = [0, 8193, 2 ** 31, 2 ** 32 - 1];
const modelFields: readonly Field[] = [
  modelField("kind", 0, "(1 or 4 for ivfflat, 2 or 3 for ivf and ivfpq)", [2, 3]),
  modelField("dimension", 4, "1..8192, that of the manifest", others),
  modelField("lists", 8, "1 or more", others),
  modelField("number of probe limits", 12, "(the number that follows)", others),
  modelField("number of depths", 16, "1 or more", others),
  modelField("values of the recall curves", 20, "(70 times the depths)", others),
];

/** The first segment that has such a block, and is damaged then. */
function segmentWith(
  parts: StoredParts,
  section: SectionName,
): { segment: SegmentParts; at: number } | undefined {
  for (const segment of parts.segments) {
    const at = blockEntries(segment.footer).findIndex((entry) => entry.section === section);
    if (at === -1 || segment.blocks[at] === undefined) continue;
    segment.isChanged = true;
    return { segment, at };
  }
  return undefined;
}

/** For `accepted`: the value that the field has. */
const asItIs = "as it is";

function footerField(field: string, range: string, accepted: Values | typeof asItIs, refused: Values): Field {
  const own = (parts: StoredParts) => [valueAt(parts.segments[0].footer, field)];
  return {
    object: "footer",
    field,
    range,
    checkedIn: field.startsWith("texts") ? "state/segment/footer-texts.ts" : "state/segment/footer.ts",
    accepted: accepted === asItIs ? own : inParts(accepted),
    refused: inParts(refused),
    set(parts, value) {
      parts.segments[0].isChanged = true;
      setAt(parts.segments[0].footer, field, value);
    },
  };
}

const u32 = 2 ** 32 - 1;
const sealedLength = "(in all, the length of the object)";

const footerFields: readonly Field[] = [
  footerField("dimension", "1..8192", asItIs, [0, 8193, u32]),
  footerField("rows", "(those of the manifest)", asItIs, [0, 1, u32]),
  ...[0, 1, 2, 3, 4, 5, 6].map((i) =>
    footerField(`counts.${i}`, "(the number that follows)", [], [0, u32, 2 ** 31, 100_000]),
  ),
  ...["codes", "records", "contents"].flatMap((section) => [
    footerField(`${section}[].rows`, "(1 or more, in all those of the segment)", asItIs, [0, u32, 2 ** 32]),
    footerField(`${section}[].length`, sealedLength, asItIs, [0, 1, u32, 2 ** 32]),
  ]),
  footerField("codes[].listStep", "(lists ascend to at most 2^32 - 1)", asItIs, [2 ** 32, 2 ** 34]),
  ...["sortedIds", "columns"].flatMap((section) => [
    footerField(
      `${section}[].firstRow`,
      section === "columns" ? "(a multiple of 16384)" : "(the rows before)",
      asItIs,
      [1, u32],
    ),
    footerField(
      `${section}[].rows`,
      section === "columns" ? "(16384, or the rest)" : "(1 or more, in all those of the segment)",
      asItIs,
      [0, 1, u32],
    ),
    footerField(`${section}[].length`, sealedLength, asItIs, [0, 1, u32]),
  ]),
  footerField("ids[].length", sealedLength, asItIs, [0, 1, u32]),
  footerField("texts.paths", "(lists of texts and nulls, one per page)", asItIs, [
    null,
    "x",
    [],
    {},
    [1],
    [[1]],
  ]),
  footerField("texts.firstIds", "(texts, one per page, ascending)", asItIs, [null, "x", [], [1], ["a", "a"]]),
  footerField("texts.spilled", "(sealed lengths)", [], ["x", [], [0], [16], [1e308]]),
  footerField(
    "texts.expiries",
    "times 0..8.64e15, ascending",
    [],
    ["x", [], [[16, -1]], [[16, 9e15]], [[16]]],
  ),
  footerField("texts.terms.texts", "(1 to the rows)", [1], [0, -1, "x", null, u32]),
  footerField("texts.terms.length", "1..2^48", [1, 2 ** 48], [0, -1, "x", 1e308]),
  footerField("texts.terms.lengthBytes", "(1, 2 or 4)", [1, 2, 4], [0, 3, 8, "x", 1e308]),
  footerField("texts.terms.lengths", "(sealed lengths, first rows, rows; all rows)", asItIs, [
    "x",
    [],
    [[16, 0, 1]],
    [[1, 2]],
  ]),
  footerField("texts.terms.postings", "(sealed lengths)", asItIs, ["x", [], [1], [1e308]]),
  footerField("texts.terms.dictionary", "(sealed lengths and terms, ascending)", asItIs, [
    "x",
    [],
    [[16, 1]],
    [[16]],
  ]),
];

/** A number within the first block of a section. */
function blockField(
  object: StoredObject & SectionName,
  field: string,
  range: string,
  checkedIn: string,
  {
    at,
    bytes,
    accepted = [],
    refused,
  }: {
    /** Where it is. */
    readonly at: (block: Buffer) => number;
    /** How many bytes it has; 8: a float64. */
    readonly bytes: 1 | 2 | 4 | 8;
    readonly accepted?: Values;
    readonly refused: Values;
  },
): Field {
  return {
    object,
    field,
    range,
    checkedIn,
    accepted: inParts(accepted),
    refused: inParts(refused),
    set(parts, value) {
      const found = segmentWith(parts, object);
      if (found === undefined) return;
      const block = Buffer.from(found.segment.blocks[found.at]);
      const offset = at(block);
      if (bytes === 8) block.writeDoubleLE(value as number, offset);
      else block.writeUIntLE(value as number, offset, bytes);
      found.segment.blocks[found.at] = block;
    },
  };
}

const rowsOf = (parts: StoredParts) => parts.segments[0].footer.rows;

const page = (object: "records" | "contents" | "sorted ids" | "columns") => [
  blockField(object, "width", "(1, 2 or 4)", "state/segment/page.ts", {
    at: () => 0,
    bytes: 1,
    refused: [0, 3, 255],
  }),
  blockField(object, "length", "(in all, the length of the page)", "state/segment/page.ts", {
    at: () => 1,
    bytes: 1,
    refused: [0, 1, 254],
  }),
];

/** Where the first entry of a page begins: after the lengths, whose sum says how many there are. */
function firstEntryAt(block: Buffer): number {
  const [width] = block;
  let at = 1;
  for (let sum = 0; at + sum < block.length; at += width) {
    const length = block.readUIntLE(at, width);
    if (length !== 2 ** (8 * width) - 1) sum += length;
  }
  return at;
}

const blockFields: readonly Field[] = [
  ...page("records"),
  blockField(
    "records",
    "length of the id",
    "(within the record, including the expiry)",
    "state/segment/row.ts",
    { at: firstEntryAt, bytes: 2, refused: [0x7fff, 0xffff] },
  ),
  ...page("contents"),
  ...page("sorted ids"),
  blockField(
    "sorted ids",
    "id",
    "(UTF-8, ascending, the first as in the footer)",
    "state/segment/sorted-ids.ts",
    {
      at: (block) => firstEntryAt(block) + 16,
      bytes: 1,
      refused: [0x7f, 0xff],
    },
  ),
  ...page("columns"),
  blockField("columns", "length of the values", "(within the column)", "state/segment/columns.ts", {
    at: firstEntryAt,
    bytes: 4,
    refused: [0, 1, u32],
  }),
  blockField("expiries", "time", "0..8.64e15, ascending", "state/segment/expiries.ts", {
    at: () => 0,
    bytes: 8,
    refused: [NaN, Infinity, -1, 1e308, 0],
  }),
  blockField(
    "id table",
    "fingerprint",
    "(ascending, the first word as in the footer)",
    "state/segment/id-table.ts",
    {
      at: () => 0,
      bytes: 4,
      refused: [u32],
    },
  ),
  blockField("id table", "row", "(each row once, 2^32 - 1 for tombstones)", "state/segment/id-table.ts", {
    at: () => 16,
    bytes: 4,
    refused: (parts) => [rowsOf(parts), u32 - 1, 2 ** 31, u32],
  }),
  blockField(
    "lengths",
    "length of a text",
    "(in all, the length of the footer)",
    "state/segment/words/term-reader.ts",
    {
      at: () => 0,
      bytes: 1,
      refused: [0, 255],
    },
  ),
  blockField("dictionary", "terms", "(the number that follows)", "state/segment/words/term-page.ts", {
    at: () => 0,
    bytes: 1,
    refused: [0, 1, 127],
  }),
  blockField(
    "dictionary",
    "start of the first list",
    "(less than the end)",
    "state/segment/words/term-page.ts",
    {
      at: () => 1,
      bytes: 1,
      refused: [127],
    },
  ),
  blockField(
    "postings",
    "first vector",
    "(within its chunk, rows of the segment)",
    "text/posting-cursor.ts",
    {
      at: () => 0,
      bytes: 4,
      refused: [0xffff_ffff],
    },
  ),
];

/** Of the first row of the first block of codes. */
const reference: Field = {
  object: "codes",
  field: "reference",
  range: "(a reference centroid of the model, or 2^32 - 1 under cosine)",
  checkedIn: "engine/codes/coded.ts",
  isOfCodes: true,
  accepted: () => [0],
  refused: () => [2 ** 20, 2 ** 31, u32],
  set(parts, value) {
    const found = segmentWith(parts, "codes");
    if (found === undefined) return;
    const block = Buffer.from(found.segment.blocks[found.at]);
    block.writeUInt32LE(value as number, 16 * found.segment.footer.codes[0].rows);
    found.segment.blocks[found.at] = block;
  },
};

const ofNamespace = {
  object: "secret of a namespace",
  checkedIn: "state/commit/namespaces.ts",
} as const;

const namespaceFields: readonly Field[] = [
  {
    ...ofNamespace,
    field: "secret",
    range: "(32 bytes that match the check)",
    accepted: ({ namespace }) => [namespace.secret],
    refused: () => [Buffer.alloc(32), Buffer.alloc(0)],
    set: (parts, value) => void (parts.namespace.secret = value as Buffer),
  },
  {
    ...ofNamespace,
    field: "name",
    range: "1..512 bytes of UTF-8",
    accepted: () => [Buffer.from("x"), Buffer.alloc(512, "x"), Buffer.from("\ufeffä")],
    refused: () => [Buffer.alloc(0), Buffer.alloc(513, "x"), Buffer.of(0xff), Buffer.of(0xc3)],
    set: (parts, value) => void (parts.namespace.name = value as Buffer),
  },
];

const ofGroup: Field = {
  object: "secret of a group",
  checkedIn: "state/commit/group-secrets.ts",
  field: "secret",
  range: "(32 bytes)",
  accepted: () => [Buffer.alloc(32), Buffer.alloc(32, 0xff)],
  refused: () => [Buffer.alloc(0), Buffer.alloc(31), Buffer.alloc(33)],
  set: (parts, value) => void (parts.group.secret = value as Buffer),
};

function anchorNumber(field: "generation" | "version"): Field {
  return {
    object: "anchor",
    field,
    range: "1..2^48",
    checkedIn: naming,
    accepted: () => [1, 2 ** 48],
    refused: () => [0, 2 ** 48 + 1, 2 ** 53 - 1],
    set: (parts, value) => void (parts.anchor = { ...parts.anchor, [field]: value }),
  };
}

const anchorFields: readonly Field[] = [
  anchorNumber("generation"),
  anchorNumber("version"),
  {
    object: "anchor",
    field: "digest",
    range: "(32 bytes)",
    checkedIn: "state/commit/anchored-history.ts",
    accepted: () => [Buffer.alloc(32, 7)],
    refused: () => [Buffer.alloc(0), Buffer.alloc(31), Buffer.alloc(33)],
    set: (parts, value) => void (parts.anchor = { ...parts.anchor, digest: value as Buffer }),
  },
];

const receiptField = (...field: [string, string, Values, Values]) =>
  jsonField("receipt of an erasure", ...field);

const receiptFields: readonly Field[] = [
  receiptField("indexId", "(that of its index, hexadecimal)", ({ receipt }) => [receipt.indexId], [
    ...otherTypes,
    "0".repeat(32),
  ]),
  receiptField(
    "namespace",
    "1..512 bytes of UTF-8",
    ["x", "x".repeat(512)],
    [...otherTypes.filter((value) => value !== "x"), "", "ä".repeat(257)],
  ),
  receiptField("erasedAt", "0 to 10 minutes from now", [0, 0.5, 1e12], [...otherTypes, -1, 8.64e15, 1e308]),
  receiptField("rows", "0..2^48", [0, 2 ** 48], notNumbers),
  receiptField(
    "version",
    "at most the newest manifest's",
    (parts) => [1, versionOf(parts)],
    (parts) => [...notNumbers, 0, versionOf(parts) + 1],
  ),
  receiptField("keyGeneration", "1..2^31, that of the signature", [1], [...notNumbers, 0, 2, 2 ** 31 + 1]),
  receiptField("anything else", "absent", [], [1, null]),
];

export const fields: readonly Field[] = [
  ...manifestFields,
  ...keysetFields,
  ...modelFields,
  ...footerFields,
  reference,
  ...blockFields,
  ...namespaceFields,
  ofGroup,
  ...anchorFields,
  ...receiptFields,
];

/** Opens the stored objects of this kind like the library. Throws unless they are well-formed. */
export async function openStored(parts: StoredParts, object: StoredObject): Promise<void> {
  const { keys, indexId, version } = parts.opened;
  if (object === "manifest") openManifest(keys, indexId, version, parts.sealManifest());
  else if (object === "keyset") decodeKeyset(parts.keysetBytes(), "keyset", storedDefinition);
  else if (object === "model") modelOf(parts);
  else if (object === "secret of a namespace") await openNamespace(parts);
  else if (object === "secret of a group") await openGroup(parts);
  else if (object === "anchor") await openAnchor(parts);
  else if (object === "receipt of an erasure") await openReceipt(parts);
  else for (const segment of parts.segments) await openSegment(parts, segment, object);
}

/** The error of an object that is not well-formed. */
export const errorOf = (object: StoredObject) =>
  object === "receipt of an erasure" ? "invalid_request" : "corrupt";

function identityOf({ opened }: StoredParts): IndexIdentity {
  const { indexName, indexId, keys } = opened;
  return { indexName, indexId, keys, renewKeys: async () => {} };
}

/** Under the name of the object that the namespace's own name determines. */
async function openNamespace(parts: StoredParts): Promise<void> {
  const { keys, indexId } = parts.opened;
  const { segments } = openManifest(keys, indexId, parts.opened.version, parts.sealManifest()).manifest;
  const [, erasures, check] = segments.flatMap(({ namespace }) => namespace?.split("-") ?? []);
  const handle = Buffer.from(fingerprint(keys.namespaceName, parts.namespace.name.toString("utf8")));
  const namespaces = new NamespaceSecrets(createMemoryStore(), identityOf(parts));
  const id = `${handle.toString("hex")}-${erasures}-${check}`;
  const objectName = namespaces.objectNameOf(id);
  const stored = storeOf(new Map([[objectName, parts.sealNamespace(objectName)]]));
  await new NamespaceSecrets(stored, identityOf(parts)).byId(id);
}

async function openGroup(parts: StoredParts): Promise<void> {
  const stored = storeOf(new Map([parts.sealGroup()]));
  await new GroupSecrets(stored, identityOf(parts)).read(parts.group.id);
}

async function openAnchor(parts: StoredParts): Promise<void> {
  await new AnchorStore(storeOf(new Map([parts.sealAnchor()])), identityOf(parts)).newest();
}

async function openReceipt(parts: StoredParts): Promise<void> {
  const log = { newest: async () => ({ version: versionOf(parts) }), now: () => Date.now() };
  await readReceipt({ ...identityOf(parts), log }, parts.signReceipt());
}

function modelOf({ models, keyset }: StoredParts): Model | undefined {
  return models.length === 0 ? undefined : decodeModel(models[0].plaintext, keyset.definition.config);
}

async function openSegment(parts: StoredParts, segment: SegmentParts, object: StoredObject): Promise<void> {
  const { ref, blocks } = segment;
  const footer = decodeFooter(encodeRawFooter(segment.footer), ref);
  if (object === "footer") return;
  const own = (section: SectionName) =>
    blockEntries(segment.footer).flatMap((entry, i) =>
      entry.section === section ? [Buffer.from(blocks[i])] : [],
    );
  const plaintexts = own(object as SectionName);
  const opened = plaintexts.map((plaintext, i) => opening[object]?.(footer, plaintext, i));
  await Promise.all(opened);
  if (object === "codes") {
    const { model, namespace } = ref;
    const codec = codecToRead(
      parts.keyset.definition.config,
      footer.dimension,
      model !== undefined,
      model && modelOf(parts),
    );
    if (namespace === undefined || model !== undefined)
      plaintexts.forEach((plaintext, i) => {
        const { rows } = footer.codes.at(i);
        codec.check({ codes: plaintext.subarray(16 * rows), n: rows });
      });
  }
  if (object === "lengths") openTextRows(footer, plaintexts);
  if (object === "id table") (await OpenIdTable.open(plaintexts, ref)).free();
  if (object === "postings") openPostings(footer, own("dictionary"), plaintexts);
}

const opening: Partial<Record<StoredObject, (footer: Footer, plaintext: Buffer, i: number) => unknown>> = {
  records(footer, plaintext, i) {
    const { rows } = footer.records.at(i);
    const opened = new Page(plaintext, rows, recordEntries);
    for (let row = 0; row < rows; row++) {
      const record = opened.entry(row) as Uint8Array;
      recordId(record);
      recordMetadata(record);
    }
  },
  contents(footer, plaintext, i) {
    const { rows } = footer.contents.at(i);
    const opened = new Page(plaintext, rows, contentEntries);
    for (let row = 0; row < rows; row++) {
      const entry = opened.entry(row);
      if (entry !== null) decodeContents(entry);
    }
  },
  dictionary: (footer, plaintext, i) => openTermPage(footer, footer.dictionary[i], plaintext),
  "sorted ids": (footer, plaintext, i) => openSortedIds(footer.sortedIds[i], plaintext),
  columns(footer, plaintext, i) {
    const { paths, rows } = footer.columns[i];
    const opened = new ColumnPage(plaintext, paths.length, rows);
    paths.forEach((_, at) => {
      const column = opened.column(at);
      for (let set = 0; set < column.sets; set++) column.rowsIn(set);
    });
  },
  expiries: (footer, plaintext, i) => new ExpiryPage(plaintext, footer.expiries[i].firstTime),
  "id table": (footer, plaintext, i) =>
    new IdPage(Buffer.from(plaintext), footer.ids[i].firstWord, footer.rows),
};

function openPostings(footer: Footer, dictionary: readonly Buffer[], postings: readonly Buffer[]): void {
  const chunks = postings.map((plaintext) => new PostingChunk(plaintext));
  for (const [i, plaintext] of dictionary.entries()) {
    const terms = openTermPage(footer, footer.dictionary[i], plaintext);
    for (const term of terms.termsFrom(new Uint8Array())) {
      const list = terms.find(term);
      if (list === undefined) continue;
      const own = chunks.slice(Math.floor(list.start / chunkBytes), Math.ceil(list.end / chunkBytes));
      const cursor = new PostingCursor(list, own, footer.rows);
      for (cursor.advance(0); cursor.row !== endOfRows; cursor.advance(cursor.row + 1)) cursor.positions();
    }
  }
}

/** The lists of docs/internals/format.md, by object. Fields with the same range share a line. */
export function fieldLists(): string {
  const listed = fields.filter(({ range }) => !range.startsWith("("));
  const lists = grouped(listed, ({ object }) => object).map(([object, own]) => {
    const lines = grouped(own, ({ range }) => range).map(([range, of]) => {
      const title = of.map(({ field }) => field).join(", ");
      return `${title.padEnd(30)}  ${range}`;
    });
    return [object, ...lines].join("\n");
  });
  return ["```", lists.join("\n\n"), "```"].join("\n");
}

function grouped<T>(all: readonly T[], keyOf: (one: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return [...groups];
}
