/** Browses the items of an index, in the order of their ids, all or those that match a filter. */

import { useSignal } from "@preact/signals";
import type { Filter, StoredItem } from "sealdex/client";
import { Failure } from "../failure.js";
import { formatCount } from "../format.js";
import { useLoaded } from "../loaded.js";
import { Pager } from "../pager.js";
import { Table } from "../table.js";
import { ItemDialog, ItemId } from "./item-dialog.js";
import type { Opened } from "./opened.js";
import { SimilarLink } from "./similar-link.js";

interface Wanted {
  readonly filter?: Filter;
  readonly after?: string;
}

const pageSize = 25;

export function Items({ opened: { index } }: { readonly opened: Opened }) {
  const wanted = useSignal<Wanted>({});
  /** Of each page from the second on. */
  const cursors = useSignal<readonly string[]>([]);
  const invalid = useSignal<unknown>(undefined);
  const page = useLoaded(
    () =>
      index.listItems({
        filter: wanted.value.filter,
        limit: pageSize,
        include: ["contents", "metadata"],
        ...(cursors.value.length > 0 ? { cursor: cursors.value.at(-1) } : { after: wanted.value.after }),
      }),
    [wanted.value, cursors.value],
  );
  const matching = useLoaded(() => index.count({ filter: wanted.value.filter }), [wanted.value]);

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    try {
      const filter = parseFilter(String(form.get("filter")));
      const after = String(form.get("after"));
      wanted.value = { ...(filter && { filter }), ...(after !== "" && { after }) };
      cursors.value = [];
      invalid.value = undefined;
    } catch (error) {
      invalid.value = error;
    }
  }

  return (
    <>
      <form class="card columns" onSubmit={submit}>
        <p class="field wide">
          <label for="filter">Filter (JSON)</label>
          <input
            id="filter"
            name="filter"
            class="mono"
            autocomplete="off"
            spellcheck={false}
            placeholder='{ "topic": "billing", "year": { "$gte": 2024 } }'
          />
        </p>
        <p class="field">
          <label for="after">Ids after</label>
          <input id="after" name="after" autocomplete="off" spellcheck={false} />
        </p>
        <button type="submit" class="primary">
          Show
        </button>
      </form>
      <Failure error={invalid.value ?? page.error.value ?? matching.error.value} />
      <p role="status">
        {invalid.value === undefined &&
          matching.error.value === undefined &&
          matching.value.value !== undefined &&
          `${formatCount(matching.value.value, "item")} ${matching.value.value === 1 ? "matches" : "match"}.`}
      </p>
      <Table
        label="Items"
        columns={["Id", "Metadata", "Contents", "Actions"]}
        rows={page.value.value?.items.map((item) => ({ key: item.id, cells: cellsOf(item) }))}
      />
      <Pager starts={cursors} next={page.value.value?.cursor} />
      <ItemDialog />
    </>
  );
}

function cellsOf(item: StoredItem) {
  const { id, metadata, contents } = item;
  return [
    <ItemId item={item} />,
    <code class="clamp">{JSON.stringify(metadata)}</code>,
    <span class="clamp">{contents ?? "–"}</span>,
    <SimilarLink id={id} label={`Similar to ${id}`}>
      Similar
    </SimilarLink>,
  ];
}

/** Undefined for an empty text. */
function parseFilter(text: string): Filter | undefined {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as Filter;
  } catch {
    throw new Error('The filter is not JSON. Expected such as { "year": { "$gte": 2024 } }.');
  }
}
