/** Answers a question by meaning, where the index has a model, or by words, where it has a text index. */

import { useSignal } from "@preact/signals";
import { Failure } from "../failure.js";
import { formatNumber } from "../format.js";
import { useLoaded } from "../loaded.js";
import { useTask } from "../task.js";
import { ItemDialog, ItemId } from "./item-dialog.js";
import type { Opened } from "./opened.js";

const topK = 10;
const include = ["contents", "metadata"] as const;

interface Found {
  readonly id: string;
  readonly contents?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly rank: string;
}

export function Ask({ opened }: { readonly opened: Opened }) {
  const { index, description } = opened;
  const hasModel = description.embeddingModel !== undefined;
  // Descriptions do not say whether there is a text index.
  const words = useLoaded(() =>
    index.query({ queryText: "a", topK: 1, include: [] }).then(
      () => true,
      () => false,
    ),
  );
  const hasWords = words.value.value;
  const found = useSignal<readonly Found[] | undefined>(undefined);
  const { isBusy, failure, run } = useTask();

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const question = String(new FormData(event.currentTarget as HTMLFormElement).get("question"));
    void run(async () => {
      found.value = await answer(opened, question, hasWords === true);
    });
  }

  if (!hasModel && hasWords === false) {
    return (
      <p class="card">
        This index has neither an embedding model nor a text index, so it cannot be asked in words. Start from
        an item under Similar.
      </p>
    );
  }
  return (
    <>
      <form class="card" onSubmit={submit}>
        <p class="field wide">
          <label for="question">Question</label>
          <input id="question" name="question" required autocomplete="off" aria-describedby="question-hint" />
          <span id="question-hint" class="hint">
            Found by{" "}
            {[...(hasModel ? ["meaning"] : []), ...(hasWords === true ? ["words"] : [])].join(" and ")}.
          </span>
        </p>
        <button type="submit" class="primary" disabled={isBusy.value || hasWords === undefined}>
          {isBusy.value ? "Searching…" : "Ask"}
        </button>
      </form>
      <Failure error={failure.value} />
      {found.value?.length === 0 && <p role="status">Nothing found.</p>}
      <ol class="answers" aria-label="Answers">
        {found.value?.map((match) => (
          <li key={match.id} class="card">
            <p class="answer">{match.contents ?? "No contents."}</p>
            <p class="actions hint">
              <ItemId item={match} /> {match.rank} <code>{JSON.stringify(match.metadata)}</code>
            </p>
          </li>
        ))}
      </ol>
      <ItemDialog />
    </>
  );
}

async function answer(
  { index, description }: Opened,
  question: string,
  hasWords: boolean,
): Promise<readonly Found[]> {
  const subject = description.embeddingModel === undefined ? {} : { queryContents: question };
  if (hasWords) {
    const matches = await index.query({ ...subject, queryText: question, topK, include });
    return matches.map((match) => ({ ...match, rank: `score ${formatNumber(match.score)}` }));
  }
  const matches = await index.query({
    queryContents: question,
    topK,
    nProbes: 0,
    include: ["distance", ...include],
  });
  return matches.map((match) => ({ ...match, rank: `distance ${formatNumber(match.distance)}` }));
}
