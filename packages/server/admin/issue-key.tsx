/** Issues an API key, and shows it once. */

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { ApiKey, Scope } from "./answers.js";
import { Failure } from "./failure.js";
import { ask } from "./session.js";
import { ShownOnce } from "./shown-once.js";
import { useTask } from "./task.js";

interface IssueKeyProps {
  /** What the form begins with. */
  readonly like: ApiKey | undefined;
  readonly onIssued: () => void;
}

type NewKey = ApiKey & { readonly apiKey: string };

const scopes: readonly { readonly scope: Scope; readonly meaning: string }[] = [
  { scope: "read", meaning: "query, get, list and count items" },
  { scope: "write", meaning: "create indexes; upsert, delete, train; with read: update" },
  { scope: "admin", meaning: "everything, this dashboard included" },
];
const dayMs = 24 * 60 * 60 * 1000;

export function IssueKey({ like, onIssued }: IssueKeyProps) {
  const { isBusy, failure, run } = useTask();
  const issued = useSignal<NewKey | undefined>(undefined);
  const kept = useMemo(() => keptExpiry(like), [like]);

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    void run(async () => {
      issued.value = await ask<NewKey>("POST", "/v1/keys", bodyOf(new FormData(form), kept));
      form.reset();
      onIssued();
    });
  }

  return (
    <section class="card">
      <h2>Issue a key</h2>
      <form onSubmit={submit}>
        <p class="field">
          <label for="key-name">Name</label>
          <input
            id="key-name"
            name="name"
            required
            maxLength={100}
            autocomplete="off"
            defaultValue={like?.name}
          />
        </p>
        <fieldset>
          <legend>Scopes</legend>
          {scopes.map(({ scope, meaning }) => (
            <label key={scope} class="check">
              <input
                type="checkbox"
                name="scope"
                value={scope}
                defaultChecked={like?.scopes.includes(scope) ?? scope === "read"}
              />
              <span>
                <strong>{scope}</strong> {meaning}
              </span>
            </label>
          ))}
        </fieldset>
        <p class="field">
          <label for="key-indexes">Only these indexes</label>
          <textarea
            id="key-indexes"
            name="indexes"
            rows={3}
            aria-describedby="key-indexes-hint"
            defaultValue={like?.indexes?.join("\n")}
          />
          <span id="key-indexes-hint" class="hint">
            One name per line. Leave empty for all indexes.
          </span>
        </p>
        <p class="field">
          <label for="key-days">Expires after (days)</label>
          <input
            id="key-days"
            name="days"
            type="number"
            min="1"
            max="3650"
            step="1"
            aria-describedby="key-days-hint"
            defaultValue={kept?.days}
          />
          <span id="key-days-hint" class="hint">
            Leave empty for a key that never expires.
          </span>
        </p>
        <button type="submit" class="primary" disabled={isBusy.value}>
          Issue
        </button>
      </form>
      <Failure error={failure.value} />
      {issued.value !== undefined && (
        <ShownOnce
          secret={issued.value.apiKey}
          onDone={() => {
            issued.value = undefined;
          }}
        >
          The key of “{issued.value.name}”. <strong>It cannot be shown again.</strong>
        </ShownOnce>
      )}
    </section>
  );
}

interface KeptExpiry {
  /** Text of the form: rounded up; 0, which the form refuses, for an expired key. */
  readonly days: string;
  readonly at: number;
}

function keptExpiry(like: ApiKey | undefined): KeptExpiry | undefined {
  if (like?.expiresAt === undefined) return undefined;
  const days = Math.max(0, Math.ceil((like.expiresAt - Date.now()) / dayMs));
  return { days: `${days}`, at: like.expiresAt };
}

function bodyOf(form: FormData, kept: KeptExpiry | undefined) {
  const indexes = String(form.get("indexes"))
    .split("\n")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const days = String(form.get("days"));
  // With unchanged days, a duplicate must not outlive its original, not even by a rounding.
  const expiresAt = days === kept?.days ? kept.at : Date.now() + Number(days) * dayMs;
  return {
    name: String(form.get("name")).trim(),
    scopes: form.getAll("scope"),
    ...(indexes.length > 0 && { indexes }),
    ...(days !== "" && { expires_at: expiresAt }),
  };
}
