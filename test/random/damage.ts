/** Random damages of an index that stay authentic: fields beyond their ranges and at the borders, and any bytes of any block. */

import { fields } from "../format/fields.js";
import type { StoredIndex } from "../format/stored-indexes.js";
import type { StoredParts } from "../format/stored-parts.js";
import type { Choice } from "./choice.js";

const oddNumbers = [
  0,
  1,
  2,
  31,
  32,
  33,
  127,
  128,
  255,
  256,
  65_535,
  65_536,
  100_000,
  2 ** 30,
  2 ** 31,
  2 ** 32 - 16,
  2 ** 32 - 1,
];
const oddFloats = [NaN, Infinity, -Infinity, 0, -1, 1e30, 3e38, 1e-45];

/** What was damaged, for messages; and everything that is stored then. */
export function damaged(
  { parts: whole }: StoredIndex,
  choice: Choice,
): { what: string; blobs: Map<string, Uint8Array> } {
  for (;;) {
    const parts = whole.copy();
    const what = choice.list(1 + choice.below(3), () =>
      choice.weighted([
        [4, () => damageField(parts, choice)],
        [4, () => damageBlock(parts, choice)],
        [1, () => damageModel(parts, choice)],
        [1, () => exchange(parts, choice)],
      ]),
    );
    try {
      return { what: what.join("; "), blobs: parts.seal() };
    } catch {
      // A damage of a damage that nothing can be made of.
    }
  }
}

function damageField(parts: StoredParts, choice: Choice): string {
  const field = choice.of(fields);
  const { object, field: name } = field;
  try {
    // Others wait for a promised commit for as long as it says.
    const values = [...field.refused(parts), ...(name === "reservation" ? [] : field.accepted(parts))];
    const value = values.length === 0 || choice.chance(0.2) ? choice.of(oddNumbers) : choice.of(values);
    field.set(parts, value);
    return `${object}: ${name} = ${JSON.stringify(value)}`.slice(0, 120);
  } catch {
    return `${object} has no ${name}`;
  }
}

function damageBlock(parts: StoredParts, choice: Choice): string {
  const segment = choice.of(parts.segments);
  const number = choice.below(segment.blocks.length);
  const block = Buffer.from(segment.blocks[number]);
  segment.isChanged = true;
  segment.blocks[number] = changed(block, choice);
  return `segment ${parts.segments.indexOf(segment)}: block ${number} of ${segment.blocks.length}`;
}

function damageModel(parts: StoredParts, choice: Choice): string {
  if (parts.models.length === 0) return "no model";
  const model = choice.of(parts.models);
  model.isChanged = true;
  model.plaintext = changed(Buffer.from(model.plaintext), choice);
  return "model";
}

/** Puts a block in the place of another, or a segment's number in that of another's. */
function exchange(parts: StoredParts, choice: Choice): string {
  const [one, other] = [choice.of(parts.segments), choice.of(parts.segments)];
  if (choice.chance(0.5)) {
    const name = choice.of([
      "sequence",
      "rows",
      "deleted",
      "blocks",
      "footerLength",
      "length",
      "namespace",
      "model",
      "generation",
      "pin",
    ]);
    const column = parts.manifest.segments?.[name];
    if (!Array.isArray(column) || column.length === 0) return "no segments";
    const [a, b] = [choice.below(column.length), choice.below(column.length)];
    [column[a], column[b]] = [column[b], column[a]];
    return `${name} of two segments`;
  }
  const [i, j] = [choice.below(one.blocks.length), choice.below(other.blocks.length)];
  one.isChanged = true;
  one.blocks[i] = other.blocks[j];
  return `block ${j} for block ${i}`;
}

function changed(block: Buffer, choice: Choice): Buffer {
  if (block.length === 0) return Buffer.alloc(1 + choice.below(64));
  const place = (bytes: number) => {
    const end = Math.max(1, block.length - bytes + 1);
    // Counts come first.
    return choice.chance(0.5) ? choice.below(Math.min(end, 64)) : choice.below(end);
  };
  for (let left = 1 + choice.below(3); left > 0; left--) {
    choice.weighted([
      [2, () => (block[place(1)] ^= 1 << choice.below(8))],
      [2, () => (block[place(1)] = choice.below(256))],
      [4, () => block.length >= 4 && block.writeUInt32LE(choice.of(oddNumbers), place(4))],
      [1, () => block.length >= 2 && block.writeUInt16LE(choice.of([0, 1, 255, 32_768, 65_535]), place(2))],
      [2, () => block.length >= 4 && block.writeFloatLE(choice.of(oddFloats), place(4))],
      [1, () => block.length >= 8 && block.writeDoubleLE(choice.of(oddFloats), place(8))],
    ]);
  }
  if (choice.chance(0.1)) return block.subarray(0, choice.below(block.length));
  if (choice.chance(0.05)) return Buffer.concat([block, Buffer.alloc(choice.below(64), choice.below(256))]);
  return block;
}
