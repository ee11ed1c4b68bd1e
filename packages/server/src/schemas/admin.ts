/** Shapes of the dashboard's requests. */

import { type Static, Type } from "typebox";
import { encodeDescription } from "sealdex/wire";
import type { AuditEntry, AuditPosition } from "../audit/read-log.js";
import type { Described } from "../indexes/open-indexes.js";
import { answers, closed } from "./shapes.js";

const namesMax = 100;
const entriesMax = 200;
const milliseconds = { description: "Milliseconds since 1970." };

export const locations = {
  tags: ["dashboard"],
  summary: "Whether each storage location responds.",
  response: answers(
    Type.Object({
      locations: Type.Array(
        Type.Object({
          name: Type.String(),
          kind: Type.String(),
          ms: Type.Number({ description: "Response time." }),
          code: Type.Optional(Type.String({ description: "Error code if it does not respond." })),
        }),
      ),
    }),
  ),
};

export const openIndexes = {
  tags: ["dashboard"],
  summary: "Details of the indexes that this process has open.",
  body: closed({ names: Type.Array(Type.String(), { maxItems: namesMax }) }),
  response: answers(
    Type.Object({
      indexes: Type.Array(
        Type.Object({
          name: Type.String(),
          description: Type.Optional(
            Type.Unknown({ description: "As of describe. Absent: it is not open." }),
          ),
          items: Type.Optional(Type.Integer()),
          last_write_at: Type.Optional(Type.Integer(milliseconds)),
        }),
      ),
    }),
  ),
};

export const audit = {
  tags: ["dashboard"],
  summary: "The audit log of all processes, newest entries first.",
  querystring: Type.Object({
    limit: Type.Optional(
      Type.String({ pattern: "^[1-9][0-9]{0,2}$", description: `At most ${entriesMax}.` }),
    ),
    before: Type.Optional(Type.String({ description: "`next` of the newer page.", maxLength: 200 })),
  }),
  response: answers(
    Type.Object({
      entries: Type.Array(Type.Unknown()),
      next: Type.Optional(Type.String({ description: "For the next, older page." })),
    }),
  ),
};

interface Known {
  readonly name: string;
  readonly lastWriteAt: number | undefined;
  readonly known: Described | undefined;
}

export function encodeKnown({ name, lastWriteAt, known }: Known) {
  return {
    name,
    ...(known && { description: flatDescription(known.description), items: known.items }),
    ...(lastWriteAt !== undefined && { last_write_at: lastWriteAt }),
  };
}

export function decodeAuditQuery({ limit, before }: Static<typeof audit.querystring>) {
  return { limit: Math.min(Number(limit ?? 50), entriesMax), before: decodeCursor(before ?? "") };
}

export function encodeAudit(entries: readonly AuditEntry[], limit: number) {
  const oldest = entries.at(-1);
  return {
    entries: entries.map(({ line, at, isAuthentic, logId }) => ({
      ...(line ?? { at: new Date(at).toISOString(), action: "changed or added line" }),
      previous: undefined,
      mac: undefined,
      log: logId,
      authentic: isAuthentic,
    })),
    ...(oldest !== undefined && entries.length === limit && { next: encodeCursor(oldest) }),
  };
}

function encodeCursor({ at, logId, number }: AuditPosition): string {
  return `${at}.${number}.${logId}`;
}

/** Undefined for an invalid cursor. */
function decodeCursor(text: string): AuditPosition | undefined {
  const [, at, number, logId] = /^(\d{1,16})\.(\d{1,15})\.([0-9a-f]{28})$/.exec(text) ?? [];
  return at === undefined ? undefined : { at: Number(at), number: Number(number), logId };
}

/** Flattens the description of an index. */
function flatDescription(description: Described["description"]): Readonly<Record<string, unknown>> {
  const { index_config, ...others } = encodeDescription(description);
  return { ...others, ...index_config, index_config };
}
