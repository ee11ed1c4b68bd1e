/** Issues an API key, and shows it once. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ApiKey, Scope } from "./answers.js";
import { Failure } from "./failure.js";
import { ask } from "./session.js";
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

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    void run(async () => {
      issued.value = await ask<NewKey>("POST", "/v1/keys", bodyOf(new FormData(form)));
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
          <label for="key-indexes">Only these indexes, one per line (empty: all)</label>
          <textarea id="key-indexes" name="indexes" rows={3} defaultValue={like?.indexes?.join("\n")} />
        </p>
        <p class="field">
          <label for="key-days">Expires after so many days (empty: never)</label>
          <input id="key-days" name="days" type="number" min="1" max="3650" step="1" />
        </p>
        <button type="submit" class="primary" disabled={isBusy.value}>
          Issue
        </button>
      </form>
      <Failure error={failure.value} />
      {issued.value !== undefined && (
        <ShownOnce
          issued={issued.value}
          onDone={() => {
            issued.value = undefined;
          }}
        />
      )}
    </section>
  );
}

interface ShownOnceProps {
  readonly issued: NewKey;
  readonly onDone: () => void;
}

function ShownOnce({ issued, onDone }: ShownOnceProps) {
  const copied = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), [issued]);

  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(issued.apiKey);
    copied.value = true;
  }

  return (
    <div ref={box} class="once" role="region" aria-label="The new key" tabIndex={-1}>
      <p>
        The key of “{issued.name}”. <strong>It cannot be shown again.</strong>
      </p>
      <p>
        <code class="key">{issued.apiKey}</code>
      </p>
      <div class="actions">
        {/* Only pages that came over TLS, or from this machine, may write to the clipboard. */}
        {isSecureContext && (
          <button type="button" onClick={() => void copy()}>
            {copied.value ? "Copied" : "Copy"}
          </button>
        )}
        <button type="button" onClick={onDone}>
          Hide
        </button>
      </div>
    </div>
  );
}

function bodyOf(form: FormData) {
  const indexes = String(form.get("indexes"))
    .split("\n")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const days = Number(form.get("days"));
  return {
    name: String(form.get("name")).trim(),
    scopes: form.getAll("scope"),
    ...(indexes.length > 0 && { indexes }),
    ...(days > 0 && { expires_at: Date.now() + days * dayMs }),
  };
}
