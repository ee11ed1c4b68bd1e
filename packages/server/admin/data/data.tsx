/** What is in one index, opened in this tab with the key that the person types. */

import type { ComponentType } from "preact";
import { Failure } from "../failure.js";
import { formatBytes, formatInteger } from "../format.js";
import { Navigation, route } from "../navigation.js";
import { SecretField } from "../secret-field.js";
import { useTask } from "../task.js";
import { Items } from "./items.js";
import { Map2d } from "./map-2d.js";
import { closeIndex, type Opened, opened, openIndex } from "./opened.js";
import { Recall } from "./recall.js";
import { Similar } from "./similar.js";

interface Part {
  readonly path: string;
  readonly title: string;
  readonly Content: ComponentType<{ readonly opened: Opened }>;
}

const parts: readonly Part[] = [
  { path: "data", title: "Items", Content: Items },
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
        </div>
        <p>
          {formatInteger(count)} items of {description.dimension ?? "no"} dimensions, {description.type},{" "}
          {description.metric},{" "}
          {description.trained ? `${formatInteger(description.nLists)} lists` : "not trained"},{" "}
          {formatInteger(description.segments)} segments, {formatBytes(description.storedBytes)} in storage.
        </p>
      </section>
      <Navigation label="Parts of the index" links={parts} current={title} />
      <Content key={index.indexName} opened={current} />
    </>
  );
}

function OpenForm() {
  const { isBusy, failure, run } = useTask();

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
          <input
            id="index-name"
            name="indexName"
            required
            autocomplete="off"
            spellcheck={false}
            defaultValue={route.value.query.get("index") ?? ""}
          />
        </p>
        <SecretField name="indexKey" label="Index key" />
        <button type="submit" class="primary" disabled={isBusy.value}>
          {isBusy.value ? "Opening…" : "Open"}
        </button>
      </form>
      <Failure error={failure.value} />
    </section>
  );
}
