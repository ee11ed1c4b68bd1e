/** API keys: who has which, issuing and revoking. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { ApiKey } from "./answers.js";
import { Confirm } from "./confirm.js";
import { Failure, isUnsupported } from "./failure.js";
import { formatTime } from "./format.js";
import { IssueKey } from "./issue-key.js";
import { useLoaded } from "./loaded.js";
import { Pager } from "./pager.js";
import { ask } from "./session.js";
import { Table } from "./table.js";

const pageSize = 50;

export function Keys() {
  /** The id before each page from the second on. */
  const starts = useSignal<readonly string[]>([]);
  const { value, error, reload } = useLoaded(() => load(starts.value.at(-1)), [starts.value]);
  const keys = value.value;
  const next = keys?.length === pageSize ? keys[pageSize - 1].id : undefined;
  const revoking = useSignal<ApiKey | undefined>(undefined);
  const like = useSignal<ApiKey | undefined>(undefined);
  const form = useRef<HTMLDivElement>(null);

  function duplicate(key: ApiKey): void {
    like.value = key;
    form.current?.querySelector("input")?.focus();
  }

  const cellsOf = (key: ApiKey) => [
    key.name,
    <code>{key.id}</code>,
    key.scopes.join(", "),
    key.indexes?.join(", ") ?? "all",
    formatTime(key.createdAt),
    key.expiresAt === undefined ? "never" : formatTime(key.expiresAt),
    key.lastUsedAt === undefined ? "never" : formatTime(key.lastUsedAt),
    <span class="actions">
      <button type="button" aria-label={`Duplicate ${key.name}`} onClick={() => duplicate(key)}>
        Duplicate
      </button>
      <button
        type="button"
        class="danger"
        aria-label={`Revoke ${key.name}`}
        onClick={() => {
          revoking.value = key;
        }}
      >
        Revoke
      </button>
    </span>,
  ];

  if (isUnsupported(error.value)) {
    return (
      <p class="card">
        This service issues no API keys. Start it with <code>SEALDEX_ROOT_KEY</code> to manage keys here.
      </p>
    );
  }
  return (
    <>
      <Failure error={error.value} />
      <Table
        label="API keys"
        columns={["Name", "Id", "Scopes", "Indexes", "Issued", "Expires", "Last used", "Actions"]}
        rows={keys?.map((key) => ({ key: key.id, cells: cellsOf(key), values: valuesOf(key) }))}
      />
      <Pager starts={starts} next={next} />
      <p class="hint">
        Keys cannot be edited. To change one, duplicate it, adjust, and revoke the old key. The last use is up
        to ten minutes old if the key was used in another process.
      </p>
      <div ref={form}>
        <IssueKey key={like.value?.id} like={like.value} onIssued={() => void reload()} />
      </div>
      {revoking.value !== undefined && (
        <Confirm
          title={`Revoke “${revoking.value.name}”?`}
          action="Revoke it"
          work={() => ask("DELETE", `/v1/keys/${revoking.value?.id}`)}
          onClose={() => {
            revoking.value = undefined;
            void reload();
          }}
        >
          <p>
            Requests with this key are refused at once by this process, and by all others after at most 10
            seconds. It cannot be undone.
          </p>
        </Confirm>
      )}
    </>
  );
}

function valuesOf({ name, id, scopes, indexes, createdAt, expiresAt, lastUsedAt }: ApiKey) {
  const [allowed, where] = [scopes.join(", "), indexes?.join(", ") ?? "all"];
  return [name, id, allowed, where, createdAt, expiresAt ?? "", lastUsedAt ?? ""];
}

async function load(after: string | undefined): Promise<ApiKey[]> {
  const range = new URLSearchParams({ limit: String(pageSize), ...(after !== undefined && { after }) });
  const { keys } = await ask<{ keys: ApiKey[] }>("GET", `/v1/keys?${range.toString()}`);
  return keys;
}
