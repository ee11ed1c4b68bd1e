/** The vocabulary and the table of token vectors, which scripts/build-model-data.mjs writes as JavaScript. */

/** Some successive tokens. */
export interface Part {
  /** Their names, one per line. */
  readonly pieces: string;
  /** In base64: a float16 scale per token. */
  readonly scales: string;
  /** In base64: per token the 4-bit components of its row, two to a byte, the low half first, both signed. */
  readonly rows: string;
}

/** Each reads one part. They are all tokens, in order. */
export const parts: readonly (() => Part)[];

export const tokenCount: number;
