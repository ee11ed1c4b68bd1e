/** All indexes by name, and what this process knows of those that it has open. */

import { useSignal } from "@preact/signals";
import type { KnownIndex } from "./answers.js";
import { Failure } from "./failure.js";
import { formatBytes, formatInteger, formatTime } from "./format.js";
import { useLoaded } from "./loaded.js";
import { Pager } from "./pager.js";
import { ask } from "./session.js";
import { Table } from "./table.js";

const pageSize = 50;

export function Indexes() {
  /** The name before each page from the second on. */
  const starts = useSignal<readonly string[]>([]);
  const { value, error } = useLoaded(() => load(starts.value.at(-1)), [starts.value]);
  const names = value.value;
  const next = names?.length === pageSize ? names.at(-1)?.name : undefined;
  return (
    <>
      <p class="hint">
        Without the key of an index, the service knows its name. It knows more while it has the index open,
        within ten minutes of a request that brought the key to this process. To look into an index yourself,
        open it under <a href="#/data">Data</a>.
      </p>
      <Failure error={error.value} />
      <Table
        label="Indexes"
        columns={["Name", "Items", "Size", "Segments", "Type", "Trained", "Last write"]}
        rows={names?.map((index) => ({ key: index.name, cells: cellsOf(index) }))}
      />
      <Pager starts={starts} next={next} />
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

function cellsOf({ name, items, description, lastWriteAt }: KnownIndex) {
  const link = <a href={`#/data?${new URLSearchParams({ index: name })}`}>{name}</a>;
  const written = lastWriteAt === undefined ? "unknown" : formatTime(lastWriteAt);
  if (description === undefined) return [link, "not open", "–", "–", "–", "–", written];
  const { indexType, indexConfig, isTrained, segments, storedBytes, trainingFailure } = description;
  const { dimension, metric, nLists } = indexConfig;
  const trained = isTrained ? `${formatInteger(nLists)} lists` : "no";
  return [
    link,
    formatInteger(items ?? 0),
    formatBytes(storedBytes),
    formatInteger(segments),
    `${indexType}, ${metric}, ${dimension === 0 ? "no" : dimension} dimensions`,
    trainingFailure === undefined ? trained : <span class="bad">failed: {trainingFailure}</span>,
    written,
  ];
}
