/** What is in one index, opened in this tab with the key that the person types. */

import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { Confirm } from "../confirm.js";
import { Failure } from "../failure.js";
import { formatBytes, formatCount } from "../format.js";
import { useLoaded } from "../loaded.js";
import { Navigation, route } from "../navigation.js";
import { SecretField } from "../secret-field.js";
import { ask } from "../session.js";
import { useTask } from "../task.js";
import { Ask } from "./ask.js";
import { Items } from "./items.js";
import { Map2d } from "./map-2d.js";
import { closeIndex, deleteOpened, type Opened, opened, openIndex } from "./opened.js";
import { Recall } from "./recall.js";
import { Similar } from "./similar.js";

/** As many names as a list shows. */
const namesMax = 200;

interface Part {
  readonly path: string;
  readonly title: string;
  readonly Content: ComponentType<{ readonly opened: Opened }>;
}

const parts: readonly Part[] = [
  { path: "data", title: "Items", Content: Items },
  { path: "data/ask", title: "Ask", Content: Ask },
  { path: "data/similar", title: "Similar", Content: Similar },
  { path: "data/map", title: "Map", Content: Map2d },
  { path: "data/recall", title: "Recall", Content: Recall },
];

export function Data() {
  const current = opened.value;
  if (current === undefined) return <OpenForm />;
  const { description, count, index } = current;
  const { part } = route.value;
  const { title, Content } = parts.find(({ path }) => path === `data/${part}`) ?? parts[0];
  return (
    <>
      <section class="card" aria-label="The index">
        <div class="actions">
          <h2>{index.indexName}</h2>
          <button type="button" onClick={closeIndex}>
            Close and forget the key
          </button>
          <DeleteIndex key={index.indexName} opened={current} />
        </div>
        <p>
          {formatCount(count, "item")} of {formatCount(description.dimension ?? 0, "dimension")},{" "}
          {description.type}, {description.metric},{" "}
          {description.trained ? formatCount(description.nLists, "list") : "not trained"},{" "}
          {description.shards === undefined ? "" : `${formatCount(description.shards, "shard")}, `}
          {formatCount(description.segments, "segment")}, {formatBytes(description.storedBytes)} in storage
          {description.embeddingModel === undefined ? "" : `, texts by ${description.embeddingModel}`}.
        </p>
      </section>
      <Navigation label="Parts of the index" links={parts} current={title} />
      <Content key={index.indexName} opened={current} />
    </>
  );
}

function OpenForm() {
  const { isBusy, failure, run } = useTask();
  const known = useLoaded(() => ask<{ indexes: string[] }>("GET", `/v1/indexes/list?limit=${namesMax}`));
  const names = known.value.value?.indexes;
  const wanted = route.value.query.get("index") ?? "";

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    void run(() => openIndex(String(form.get("indexName")), String(form.get("indexKey")).trim()));
  }

  return (
    <section class="card">
      <h2>Open an index</h2>
      <p class="hint">
        The key stays in the memory of this tab and goes to this service alone, with each request, as from any
        client. It is gone when you close the index, sign out, or reload the page.
      </p>
      <form onSubmit={submit}>
        <p class="field">
          <label for="index-name">Index</label>
          {/* Of more indexes than a list can show, the name is typed. */}
          {(names?.length ?? 0) >= namesMax || known.error.value !== undefined ? (
            <input
              key={wanted}
              id="index-name"
              name="indexName"
              required
              autocomplete="off"
              spellcheck={false}
              defaultValue={wanted}
            />
          ) : (
            <select key={wanted} id="index-name" name="indexName" required disabled={names === undefined}>
              {(names ?? []).map((name) => (
                <option key={name} selected={name === wanted}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </p>
        <SecretField
          name="indexKey"
          label="Index key"
          pattern={["\\s*[0-9a-fA-F]{64}\\s*", "64 hexadecimal characters"]}
        />
        <button type="submit" class="primary" disabled={isBusy.value}>
          {isBusy.value ? "Opening…" : "Open"}
        </button>
      </form>
      <Failure error={failure.value ?? known.error.value} />
    </section>
  );
}

function DeleteIndex({ opened: { index } }: { readonly opened: Opened }) {
  const isAsked = useSignal(false);
  return (
    <>
      <button
        type="button"
        class="danger"
        onClick={() => {
          isAsked.value = true;
        }}
      >
        Delete
      </button>
      {isAsked.value && (
        <Confirm
          title={`Delete “${index.indexName}”?`}
          action="Delete it"
          work={deleteOpened}
          onClose={() => {
            isAsked.value = false;
          }}
        >
          <p>All its items are deleted. It cannot be undone.</p>
        </Confirm>
      )}
    </>
  );
}
