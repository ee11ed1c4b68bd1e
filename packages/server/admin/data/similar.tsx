/** The nearest neighbors of an item. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Match } from "sealdex/client";
import { Failure } from "../failure.js";
import { formatNumber } from "../format.js";
import { Table } from "../table.js";
import type { Opened } from "./opened.js";
import { chosenId, SimilarLink } from "./similar-link.js";

const topK = 20;
const include = ["distance", "contents", "metadata"] as const;

export function Similar({ opened }: { readonly opened: Opened }) {
  const id = chosenId.value;
  const matches = useSignal<readonly Match<typeof include>[] | undefined>(undefined);
  const failure = useSignal<unknown>(undefined);

  useEffect(() => {
    if (id === "") return undefined;
    const controller = new AbortController();
    matches.value = undefined;
    failure.value = undefined;
    similarTo(opened, id, controller.signal).then(
      (found) => {
        matches.value = found;
      },
      (error: unknown) => {
        if (!controller.signal.aborted) failure.value = error;
      },
    );
    return () => controller.abort();
  }, [id]);

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    chosenId.value = String(new FormData(event.currentTarget as HTMLFormElement).get("id"));
  }

  return (
    <>
      <form class="card" onSubmit={submit}>
        <p class="field">
          <label for="similar-id">Id of an item</label>
          <input
            key={id}
            id="similar-id"
            name="id"
            required
            autocomplete="off"
            spellcheck={false}
            defaultValue={id}
          />
        </p>
        <button type="submit" class="primary">
          Find similar
        </button>
      </form>
      <Failure error={failure.value} />
      {id !== "" && failure.value === undefined && (
        <Table
          label={`Items similar to ${id}`}
          columns={["Id", "Distance", "Metadata", "Contents"]}
          numeric={["Distance"]}
          rows={matches.value?.map((match) => ({
            key: match.id,
            cells: [
              <SimilarLink id={match.id}>
                <code>{match.id}</code>
              </SimilarLink>,
              formatNumber(match.distance),
              <code class="clamp">{JSON.stringify(match.metadata)}</code>,
              <span class="clamp">{match.contents ?? "–"}</span>,
            ],
          }))}
        />
      )}
      <p class="hint">
        The {topK} nearest items by {opened.description.metric} distance, from as many lists as training found
        to be needed. An index of codes is asked with what its codes say of the vector.
      </p>
    </>
  );
}

async function similarTo({ index }: Opened, id: string, signal: AbortSignal) {
  const [item] = await index.get([id], { include: ["decoded"], signal });
  if (item === undefined) throw new Error(`There is no item with the id “${id}”.`);
  // One more, since the item itself is the nearest.
  const found = await index.query({ queryVector: item.decoded, topK: topK + 1, nProbes: 0, include, signal });
  return found.filter((match) => match.id !== id).slice(0, topK);
}
