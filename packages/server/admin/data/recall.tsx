/** How many of the true nearest neighbors queries find, by how many lists they probe. */

import { useSignal } from "@preact/signals";
import { Failure } from "../failure.js";
import { formatCount, formatInteger, formatMs, formatShare } from "../format.js";
import { Table } from "../table.js";
import { useTask } from "../task.js";
import { MeasuredRecall } from "./measured-recall.js";
import type { Opened } from "./opened.js";
import { sample } from "./sample.js";

const queries = 25;
const topK = 10;
/** 0: as many as training found to be needed. */
const probesTried = [0, 1, 2, 4, 8, 16, 32, 64];

interface Row {
  readonly probes: number;
  readonly recall: number;
  readonly medianMs: number;
}

export function Recall({ opened }: { readonly opened: Opened }) {
  const rows = useSignal<readonly Row[] | undefined>(undefined);
  const { isBusy, failure, run } = useTask();
  const { nLists, trained, type } = opened.description;

  const measureAll = () =>
    run(async () => {
      rows.value = await measure(opened);
    });

  if (!trained) {
    return (
      <p class="card">
        This index is not trained: every query looks at all items and finds all true neighbors, so there is
        nothing to measure.
      </p>
    );
  }
  return (
    <>
      <MeasuredRecall measured={opened.description.measuredRecall} />
      <section class="card">
        <h2>Items as queries</h2>
        <p>
          Asks for the {topK} nearest neighbors of {queries} random items, with different numbers of lists,
          and compares the answers with an exact search of {formatCount(nLists, "list")}.
          {type !== "ivfflat" &&
            " An index of codes is compared with itself: with what its codes say, not with the vectors that were stored."}
        </p>
        <p>
          <button type="button" class="primary" disabled={isBusy.value} onClick={() => void measureAll()}>
            {isBusy.value ? "Measuring…" : "Measure"}
          </button>
        </p>
        <Failure error={failure.value} />
        {rows.value !== undefined && (
          <>
            <Table
              label="Recall"
              columns={["Lists probed", `Recall at ${topK}`, "Median time"]}
              numeric={[`Recall at ${topK}`, "Median time"]}
              rows={rows.value.map(({ probes, recall, medianMs }) => ({
                key: `${probes}`,
                cells: [
                  probes === 0 ? "automatic (0)" : formatInteger(probes),
                  formatShare(recall),
                  formatMs(medianMs),
                ],
              }))}
            />
            <p class="hint">
              Measured with one query at a time. Times include the way to the service and back.
            </p>
          </>
        )}
      </section>
    </>
  );
}

async function measure(opened: Opened): Promise<Row[]> {
  const { index, description } = opened;
  const items = await sample(opened, queries);
  if (items.length === 0) throw new Error("The index is empty.");
  const search = async (probes: number) => {
    const times: number[] = [];
    const found: string[][] = [];
    for (const { id, decoded } of items) {
      const startedAt = performance.now();
      // One more, since the item itself is found as well.
      const matches = await index.query({
        queryVector: decoded,
        topK: topK + 1,
        nProbes: probes,
        include: [],
      });
      times.push(performance.now() - startedAt);
      found.push(
        matches
          .map((match) => match.id)
          .filter((other) => other !== id)
          .slice(0, topK),
      );
    }
    return { found, medianMs: times.sort((a, b) => a - b)[Math.floor(times.length / 2)] };
  };
  const exact = await search(description.nLists);
  const rows: Row[] = [];
  for (const probes of [...probesTried.filter((tried) => tried < description.nLists), description.nLists]) {
    const { found, medianMs } = await search(probes);
    rows.push({ probes, recall: recallOf(found, exact.found), medianMs });
  }
  return rows;
}

/** The share of the true neighbors that were found. */
function recallOf(found: readonly (readonly string[])[], exact: readonly (readonly string[])[]): number {
  const wanted = exact.reduce((sum, ids) => sum + ids.length, 0);
  const hits = exact.reduce((sum, ids, i) => sum + ids.filter((id) => found[i].includes(id)).length, 0);
  return wanted === 0 ? 1 : hits / wanted;
}
