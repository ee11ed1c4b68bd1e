/** Whether each storage location responds, and what was asked of it. */

import { useEffect } from "preact/hooks";
import type { LocationHealth } from "./answers.js";
import { Failure } from "./failure.js";
import { formatBytes, formatInteger, formatMs } from "./format.js";
import { latest } from "./live.js";
import { useLoaded } from "./loaded.js";
import { ask } from "./session.js";
import { Table } from "./table.js";

const checkMs = 15_000;

export function Locations() {
  const { value, error, reload } = useLoaded(() =>
    ask<{ locations: LocationHealth[] }>("GET", "/v1/admin/locations"),
  );
  useEffect(() => {
    const timer = setInterval(() => void (document.hidden || reload()), checkMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <section class="card">
      <h2>Storage</h2>
      <Failure error={error.value} />
      <Table
        label="Storage locations"
        columns={["Location", "Kind", "Health", "Calls", "Failed", "Read", "Written"]}
        numeric={["Calls", "Failed", "Read", "Written"]}
        rows={value.value?.locations.map((location) => ({ key: location.name, cells: cellsOf(location) }))}
      />
      <p class="hint">
        Checked every 15 seconds. Calls count since this process was started; what is in the cache is not
        read.
      </p>
    </section>
  );
}

function cellsOf({ name, kind, ms, code }: LocationHealth) {
  const figures = latest.value?.storage.filter(({ location }) => location === name) ?? [];
  const sum = (field: "calls" | "errors" | "bytes", operation?: string) =>
    figures
      .filter((figure) => operation === undefined || figure.operation === operation)
      .reduce((total, figure) => total + figure[field], 0);
  return [
    name,
    kind,
    code === undefined ? (
      <span class="good">responds, {formatMs(ms)}</span>
    ) : (
      <span class="bad">
        {code}, after {formatMs(ms)}
      </span>
    ),
    formatInteger(sum("calls")),
    formatInteger(sum("errors")),
    formatBytes(sum("bytes", "read")),
    formatBytes(sum("bytes", "create")),
  ];
}
