/** Environment variables of limits. */

import { invalid } from "sealdex/wire";
import { defaultLimits, type Limits } from "../http/limits.js";

interface LimitSetting {
  /** Name of the variable. */
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** As in the README. */
  readonly meaning: string;
  /** As in the README, if it depends on the machine. */
  readonly byDefault?: string;
}

const bytesMax = 2 ** 40;
const msMax = 24 * 60 * 60 * 1000;
const countMax = 1_000_000_000;

const bytes = (name: string, min: number, meaning: string, byDefault?: string): LimitSetting => ({
  name,
  min,
  max: bytesMax,
  meaning: `${meaning}, in bytes.`,
  ...(byDefault !== undefined && { byDefault }),
});
const milliseconds = (name: string, meaning: string): LimitSetting => ({
  name,
  min: 1,
  max: msMax,
  meaning: `${meaning}, in milliseconds.`,
});
const count = (name: string, meaning: string): LimitSetting => ({
  name,
  min: 1,
  max: countMax,
  meaning: `${meaning}.`,
});

export const limitSettings: Readonly<Record<keyof Limits, LimitSetting>> = {
  bodyBytesMax: bytes(
    "SEALDEX_BODY_BYTES_MAX",
    1024,
    "The longest body of `vectors/upsert` and `vectors/upsert_binary`",
    "256 MiB, at most a quarter of the heap",
  ),
  itemsMax: count("SEALDEX_ITEMS_MAX", "Items of an upsert, and ids of other requests"),
  queryBytesMax: bytes(
    "SEALDEX_QUERY_BYTES_MAX",
    1024,
    "The longest body of `indexes/train` and the other requests under `vectors/`",
  ),
  bodiesBytesMax: bytes(
    "SEALDEX_BODIES_BYTES_MAX",
    1024,
    "Total bytes of bodies above 64 KiB in progress",
    "512 MiB, at most a quarter of the heap",
  ),
  requestsMax: count("SEALDEX_REQUESTS_MAX", "Concurrent requests"),
  longRequestsMax: count(
    "SEALDEX_LONG_REQUESTS_MAX",
    "Concurrent trainings, compactions and renewals of data keys",
  ),
  resultBytesMax: bytes("SEALDEX_RESULT_BYTES_MAX", 1024, "Results of one request, in memory"),
  resultsBytesMax: bytes(
    "SEALDEX_RESULTS_BYTES_MAX",
    1024,
    "Results of more than 256 KiB at once, in memory",
    "an eighth of the heap, at least 64 MiB",
  ),
  workMsMax: milliseconds("SEALDEX_WORK_MS_MAX", "How long a request that reads may take"),
  stalledMsMax: milliseconds("SEALDEX_STALLED_MS_MAX", "How long a client may stop reading its response"),
  headersMsMax: milliseconds("SEALDEX_HEADERS_MS_MAX", "How long a client may take to send headers"),
  requestMsMax: milliseconds("SEALDEX_REQUEST_MS_MAX", "How long a client may take to send a request"),
  keyRequestsPerMinuteMax: count(
    "SEALDEX_KEY_REQUESTS_PER_MINUTE_MAX",
    "Requests per minute with one API key",
  ),
  addressRequestsPerMinuteMax: count(
    "SEALDEX_ADDRESS_REQUESTS_PER_MINUTE_MAX",
    "Requests per minute from one address",
  ),
  failedKeysPerMinuteMax: count(
    "SEALDEX_FAILED_KEYS_PER_MINUTE_MAX",
    "Invalid API keys per minute from one address",
  ),
  wrongIndexKeysPerMinuteMax: count(
    "SEALDEX_WRONG_INDEX_KEYS_PER_MINUTE_MAX",
    "Wrong index keys per minute that one client may send for one index",
  ),
  waitingMax: count("SEALDEX_WAITING_MAX", "Waiting requests"),
  waitMsMax: milliseconds(
    "SEALDEX_WAIT_MS_MAX",
    "Maximum queueing time before a 503, except for training, compaction and renewals of data keys",
  ),
  eventLoopDelayMsMax: milliseconds(
    "SEALDEX_EVENT_LOOP_DELAY_MS_MAX",
    "The mean delay of the event loop beyond which requests are refused",
  ),
  heapBytesMax: bytes(
    "SEALDEX_HEAP_BYTES_MAX",
    1024,
    "The heap in use beyond which requests are refused",
    "95 % of the heap",
  ),
  openIndexesMax: count("SEALDEX_OPEN_INDEXES_MAX", "Indexes kept open between requests"),
  idleIndexMsMax: milliseconds("SEALDEX_IDLE_INDEX_MS_MAX", "How long an index without requests stays open"),
  connectionsMax: count("SEALDEX_CONNECTIONS_MAX", "Connections open at a time"),
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the limits that are set. Throws `invalid_request`. An empty variable counts as unset. */
export function readLimitSettings(environment: Environment): Partial<Limits> {
  const set = Object.entries(limitSettings).flatMap(([limit, setting]) => {
    const text = environment[setting.name];
    return text ? [[limit, parse(text, setting)] as const] : [];
  });
  const limits = Object.fromEntries(set) as Partial<Limits>;
  const { resultBytesMax, resultsBytesMax } = { ...defaultLimits, ...limits };
  if (resultsBytesMax < resultBytesMax) {
    const { resultBytesMax: one, resultsBytesMax: all } = limitSettings;
    throw invalid(`${all.name}: expected at least ${one.name}, which is ${resultBytesMax}`);
  }
  return limits;
}

function parse(text: string, { name, min, max }: LimitSetting): number {
  const value = Number(text);
  if (!/^\d{1,15}$/.test(text) || value < min || value > max) {
    throw invalid(`${name}: expected an integer from ${min} to ${max}`);
  }
  return value;
}
