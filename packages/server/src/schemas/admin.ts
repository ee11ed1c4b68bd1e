/** Shapes of the dashboard's requests. */

import { type Static, Type } from "typebox";
import { encodeDescription } from "sealdex/wire";
import type { AuditEntry, AuditPosition } from "../audit/read-log.js";
import type { LocationHealth } from "../metrics/location-health.js";
import type { Histogram, LiveFigures } from "../metrics/live-figures.js";
import type { Described } from "../indexes/open-indexes.js";
import { answers, closed } from "./shapes.js";

const namesMax = 100;
const entriesMax = 200;
const milliseconds = { description: "Milliseconds since 1970." };

export const live = {
  tags: ["dashboard"],
  summary: "Figures of this process since its start, for the dashboard.",
  response: answers(Type.Unknown()),
};

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

export function encodeLocations(found: LocationHealth[]) {
  return { locations: found };
}

function encodeHistogram({ count, sumSeconds, seconds, counts }: Histogram) {
  return { count, sum_seconds: sumSeconds, seconds, counts };
}

/** `process` identifies the responding process, if several share an address. */
export function encodeLive(figures: LiveFigures, { process, version }: { process: string; version: string }) {
  return {
    at: Date.now(),
    process,
    version,
    queries: encodeHistogram(figures.queries()),
    requests: figures.total("sealdex_requests_total"),
    requests_under_way: figures.value("sealdex_requests_under_way"),
    errors: figures.errors(),
    storage: figures.storage(),
    cache: {
      bytes: figures.value("sealdex_cache_bytes"),
      bytes_max: figures.value("sealdex_cache_bytes_max"),
      lookups: figures.value("sealdex_cache_lookups_total"),
      misses: figures.value("sealdex_cache_misses_total"),
    },
    memory: {
      rss_bytes: figures.value("process_resident_memory_bytes"),
      heap_bytes: figures.value("nodejs_heap_size_used_bytes"),
      kernel_bytes: figures.value("sealdex_kernel_bytes"),
    },
    event_loop_seconds: figures.value("nodejs_eventloop_lag_p99_seconds"),
    open_indexes: figures.value("sealdex_open_indexes"),
    trainings_running: figures.value("sealdex_trainings_running"),
    started_at: 1000 * figures.value("process_start_time_seconds"),
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
