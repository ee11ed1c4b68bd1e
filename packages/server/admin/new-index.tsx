/** Creates an index under a new key, which the page makes and shows once. */

import { useSignal } from "@preact/signals";
import type { IndexType, Metric } from "sealdex/client";
import { Failure } from "./failure.js";
import { useLoaded } from "./loaded.js";
import { ask, newClient } from "./session.js";
import { ShownOnce } from "./shown-once.js";
import { useTask } from "./task.js";

interface Created {
  readonly indexName: string;
  readonly indexKey: string;
}

const metrics: readonly Metric[] = ["cosine", "euclidean", "squared_euclidean"];
const types: readonly (readonly [IndexType, string])[] = [
  ["ivfflat", "ivfflat: vectors, exact"],
  ["ivf", "ivf: codes, a fraction of the bytes"],
  ["ivfpq", "ivfpq: product-quantized codes"],
];

export function NewIndex({ onCreated }: { readonly onCreated: () => void }) {
  const { isBusy, failure, run } = useTask();
  const created = useSignal<Created | undefined>(undefined);
  const models = useLoaded(() => ask<{ models: readonly { name: string }[] }>("GET", "/v1/embedding-models"));

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    void run(async () => {
      created.value = await create(new FormData(form));
      form.reset();
      onCreated();
    });
  }

  return (
    <section class="card">
      <h2>Create an index</h2>
      <form class="columns" onSubmit={submit}>
        <p class="field">
          <label for="new-name">Name</label>
          <input id="new-name" name="indexName" required autocomplete="off" spellcheck={false} />
        </p>
        <p class="field">
          <label for="new-model">Embedding model</label>
          <select id="new-model" name="model">
            <option value="">none: you bring the vectors</option>
            {models.value.value?.models.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </p>
        <p class="field">
          <label for="new-metric">Distance</label>
          <select id="new-metric" name="metric">
            {metrics.map((metric) => (
              <option key={metric}>{metric}</option>
            ))}
          </select>
        </p>
        <p class="field">
          <label for="new-type">Type</label>
          <select id="new-type" name="type">
            {types.map(([type, meaning]) => (
              <option key={type} value={type}>
                {meaning}
              </option>
            ))}
          </select>
        </p>
        <label class="check">
          <input type="checkbox" name="textIndex" />
          <span>Keyword search</span>
        </label>
        <button type="submit" class="primary" disabled={isBusy.value}>
          {isBusy.value ? "Creating…" : "Create"}
        </button>
      </form>
      <Failure error={failure.value} />
      {created.value !== undefined && (
        <ShownOnce
          secret={created.value.indexKey}
          onDone={() => {
            created.value = undefined;
          }}
        >
          The key of the index “{created.value.indexName}”.{" "}
          <strong>Keep it: the service does not, and nobody can read the index without it.</strong>
        </ShownOnce>
      )}
    </section>
  );
}

async function create(form: FormData): Promise<Created> {
  const indexName = String(form.get("indexName"));
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const indexKey = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const model = String(form.get("model"));
  await newClient().createIndex({
    indexName,
    indexKey,
    indexConfig: { type: form.get("type") as IndexType },
    metric: form.get("metric") as Metric,
    ...(model !== "" && { embeddingModel: model }),
    ...(form.get("textIndex") !== null && { textIndex: true }),
  });
  return { indexName, indexKey };
}
