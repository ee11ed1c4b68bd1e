/** All indexes by name, and what this process knows of those that it has open. */

import { useSignal } from "@preact/signals";
import type { KnownIndex } from "./answers.js";
import { Failure } from "./failure.js";
import { formatBytes, formatCount, formatInteger, formatTime } from "./format.js";
import { useLoaded } from "./loaded.js";
import { NewIndex } from "./new-index.js";
import { Pager } from "./pager.js";
import { ask } from "./session.js";
import { Table } from "./table.js";

const pageSize = 50;

export function Indexes() {
  /** The name before each page from the second on. */
  const starts = useSignal<readonly string[]>([]);
  const { value, error, reload } = useLoaded(() => load(starts.value.at(-1)), [starts.value]);
  const names = value.value;
  const next = names?.length === pageSize ? names.at(-1)?.name : undefined;
  return (
    <>
      <p class="hint">
        Details appear only while an index is open in this process. Indexes close 10 minutes after their last
        request. To look into an index, open it under <a href="#/data">Data</a> with its key.
      </p>
      <Failure error={error.value} />
      <Table
        label="Indexes"
        columns={["Name", "State", "Items", "Size", "Segments", "Type", "Trained", "Last write"]}
        numeric={["Items", "Size", "Segments"]}
        empty="No indexes yet. Create the first one below, or with POST /v1/indexes/create."
        rows={names?.map((index) => ({ key: index.name, cells: cellsOf(index), values: valuesOf(index) }))}
      />
      <Pager starts={starts} next={next} />
      <NewIndex onCreated={() => void reload()} />
    </>
  );
}

async function load(after = ""): Promise<KnownIndex[]> {
  const path = `/v1/indexes/list?limit=${pageSize}&after=${encodeURIComponent(after)}`;
  const { indexes: names } = await ask<{ indexes: string[] }>("GET", path);
  if (names.length === 0) return [];
  const { indexes } = await ask<{ indexes: KnownIndex[] }>("POST", "/v1/admin/open-indexes", { names });
  return indexes;
}

function valuesOf({ name, items, description, lastWriteAt }: KnownIndex): (string | number)[] {
  const written = lastWriteAt ?? "";
  if (description === undefined) return [name, "closed", "", "", "", "", "", written];
  const { indexType, indexConfig, isTrained, segments, storedBytes } = description;
  const lists = isTrained ? indexConfig.nLists : 0;
  return [
    name,
    "open",
    items ?? 0,
    storedBytes,
    segments,
    `${indexType}, ${indexConfig.metric}`,
    lists,
    written,
  ];
}

function cellsOf({ name, items, description, lastWriteAt }: KnownIndex) {
  const link = <a href={`#/data?${new URLSearchParams({ index: name })}`}>{name}</a>;
  const written = lastWriteAt === undefined ? "unknown" : formatTime(lastWriteAt);
  if (description === undefined) return [link, "closed", "–", "–", "–", "–", "–", written];
  const { indexType, indexConfig, isTrained, shards, segments, storedBytes, trainingFailure } = description;
  const { dimension, metric, nLists } = indexConfig;
  const trained = isTrained ? formatCount(nLists, "list") : "no";
  return [
    link,
    <span class="good">open</span>,
    formatInteger(items ?? 0),
    formatBytes(storedBytes),
    formatInteger(segments),
    `${indexType}, ${metric}, ${formatCount(dimension, "dimension")}${shards === undefined ? "" : `, ${formatCount(shards, "shard")}`}`,
    trainingFailure === undefined ? trained : <span class="bad">failed: {trainingFailure}</span>,
    written,
  ];
}
