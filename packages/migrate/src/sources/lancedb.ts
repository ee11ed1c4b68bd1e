/** A table of LanceDB. */

import { basename, dirname } from "node:path";
import type { Table } from "@lancedb/lancedb";
import { type FieldNames, splitFields } from "../fields.js";
import { peerMissing, type Source } from "../source.js";

const pageRows = 1000;

/** The database's folder or URL, and the name of the table. */
export function lancedbSource(path: string, names: FieldNames): Source {
  let opened: Promise<Table> | undefined;
  const open = () => (opened ??= openTable(path));
  return {
    name: `lancedb:${path}`,
    async describe() {
      const table = await open();
      return {
        rows: await table.countRows(),
        metric: undefined,
        version: String(await table.version()),
      };
    },
    async *rows(after: number = 0) {
      const table = await open();
      const count = await table.countRows();
      for (let offset = after; offset < count; offset += pageRows) {
        const records = (await table.query().limit(pageRows).offset(offset).toArray()) as object[];
        for (const [i, record] of records.entries()) {
          yield { ...splitFields(plainRow(record), names), cursor: offset + i + 1 };
        }
      }
    },
    async close() {
      (await opened)?.close();
    },
  };
}

async function openTable(path: string): Promise<Table> {
  const { connect } = await import("@lancedb/lancedb").catch((cause: unknown) => {
    throw peerMissing("@lancedb/lancedb", cause);
  });
  const database = await connect(dirname(path));
  return database.openTable(basename(path).replace(/\.lance$/, ""));
}

/** Arrow's rows and lists as plain ones. Its vectors have `toArray`, which gives the bits of float16; its structures `toJSON`. */
function plainRow(value: object): Record<string, unknown> {
  const entries = Object.entries("toJSON" in value ? (value as { toJSON(): object }).toJSON() : value);
  return Object.fromEntries(entries.map(([name, inner]) => [name, plain(inner)]));
}

function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Date) return value;
  if ("toArray" in value) return Array.from(value as object as Iterable<unknown>, plain);
  return plainRow(value);
}
