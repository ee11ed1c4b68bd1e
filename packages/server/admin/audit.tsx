/** The audit log, newest entries first. */

import { useSignal } from "@preact/signals";
import type { AuditEntry } from "./answers.js";
import { Failure, isUnsupported } from "./failure.js";
import { useLoaded } from "./loaded.js";
import { Pager } from "./pager.js";
import { ask } from "./session.js";
import { Table } from "./table.js";

interface Page {
  readonly entries: AuditEntry[];
  readonly next?: string;
}

const pageSize = 50;

export function Audit() {
  /** Where each page from the second on begins. */
  const starts = useSignal<readonly string[]>([]);
  const { value, error, reload } = useLoaded(() => load(starts.value.at(-1)), [starts.value]);
  const page = value.value;
  if (isUnsupported(error.value)) {
    return (
      <p class="card">
        This service keeps no audit log. Start it with <code>SEALDEX_ROOT_KEY</code> and{" "}
        <code>SEALDEX_AUDIT_FOLDER</code> to see one here.
      </p>
    );
  }
  return (
    <>
      <p class="hint">
        Who did what, when, and with which result; never vectors, texts, metadata or keys. An entry that the
        service did not write, or that does not follow the one before it, is marked. Whether entries are
        missing at the end of a file is for <code>sealdex-server audit verify</code> to find out.
      </p>
      <Failure error={error.value} />
      <Table
        label="Audit log"
        columns={["Time", "Caller", "Address", "Action", "Index", "Result", "Request"]}
        rows={page?.entries.map((entry, i) => ({
          key: `${entry.log} ${entry.at} ${i}`,
          cells: cellsOf(entry),
          values: valuesOf(entry),
        }))}
      />
      <Pager starts={starts} next={page?.next} labels={["Newer", "Older"]}>
        <button type="button" onClick={() => void reload()}>
          Refresh
        </button>
      </Pager>
    </>
  );
}

function load(before: string | undefined): Promise<Page> {
  const query = new URLSearchParams({ limit: `${pageSize}`, ...(before !== undefined && { before }) });
  return ask<Page>("GET", `/v1/admin/audit?${query}`);
}

function valuesOf({ at, caller, address, action, index, status, code, request }: AuditEntry) {
  const result = `${status ?? "left"} ${code ?? ""}`;
  return [at, caller ?? "", address ?? "", action, index ?? "", result, request ?? ""];
}

function cellsOf({
  at,
  caller,
  address,
  action,
  index,
  key,
  wrap,
  status,
  code,
  request,
  authentic,
}: AuditEntry) {
  const result = `${status ?? "left"}${code === undefined ? "" : ` ${code}`}`;
  return [
    <time dateTime={at}>{at.replace("T", " ").replace(/\.\d+Z$/, " UTC")}</time>,
    caller ?? "–",
    address ?? "–",
    <>
      {action}
      {key !== undefined && <> of key {key}</>}
      {wrap !== undefined && <> of wrap {wrap}</>}
      {!authentic && <strong class="bad"> not authentic</strong>}
    </>,
    index ?? "–",
    <span class={code === undefined ? "good" : "bad"}>{result}</span>,
    <code>{request?.slice(0, 8) ?? "–"}</code>,
  ];
}
