/** All indexes by name, and what this process knows of those that it has open. */

import { useSignal } from "@preact/signals";
import type { KnownIndex } from "./answers.js";
import { Failure } from "./failure.js";
import { formatBytes, formatInteger, formatTime } from "./format.js";
import { useLoaded } from "./loaded.js";
import { ask } from "./session.js";
import { Table } from "./table.js";

const pageSize = 50;

export function Indexes() {
  /** The last name of each page before this one. */
  const ends = useSignal<readonly string[]>([]);
  const { value, error } = useLoaded(() => load(ends.value.at(-1)), [ends.value]);
  const names = value.value;
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
      <div class="actions">
        <button
          type="button"
          disabled={ends.value.length === 0}
          onClick={() => {
            ends.value = ends.value.slice(0, -1);
          }}
        >
          Previous
        </button>
        <button
          type="button"
          disabled={names === undefined || names.length < pageSize}
          onClick={() => {
            ends.value = [...ends.value, names?.at(-1)?.name ?? ""];
          }}
        >
          Next
        </button>
      </div>
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
