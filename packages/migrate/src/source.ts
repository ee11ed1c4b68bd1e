/** The interface of every store to move from. */

import { SealdexError } from "sealdex/core";
import type { Metric } from "sealdex/core";

/** A place in a source, after a row. It fits into JSON. */
export type Cursor = string | number;

/** A row as the source has it. */
export interface Row {
  /** Undefined if the source has none: the content then decides. */
  readonly id: string | undefined;
  readonly vector: ArrayLike<number> | undefined;
  readonly contents: string | undefined;
  /** Any values; those that JSON cannot hold are named later. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Reading may resume from here: behind this row. Absent where the source cannot resume. */
  readonly cursor?: Cursor;
}

export interface SourceDescription {
  /** Undefined if only reading tells. */
  readonly rows: number | undefined;
  /** Undefined if the source does not say. */
  readonly metric: Metric | undefined;
  /** Changes whenever cursors lose their meaning. */
  readonly version: string;
}

export interface Source {
  /** Names the source to people, without secrets. */
  readonly name: string;
  describe(): Promise<SourceDescription>;
  /** All rows behind the cursor, in an order that repeats. */
  rows(after?: Cursor): AsyncGenerator<Row, void, undefined>;
  /** For sources that keep something open between readings. */
  close?(): Promise<void>;
}

export function invalid(message: string, cause?: unknown): SealdexError {
  return new SealdexError("invalid_request", message, ...(cause === undefined ? [] : [{ cause }]));
}

/** An optional package. npx finds only those that it installs beside the command. */
export function peerMissing(name: string, cause: unknown): SealdexError {
  return new SealdexError(
    "not_supported",
    `this source needs another package: npx -p sealdex-migrate -p ${name} sealdex-migrate …`,
    {
      cause,
    },
  );
}
