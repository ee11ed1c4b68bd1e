/** How the service is doing now: charts of the last minutes, storage, errors. */

import { Chart, type Series } from "./chart.js";
import { Failure } from "./failure.js";
import type { Live } from "./answers.js";
import {
  formatBytes,
  formatCount,
  formatInteger,
  formatMs,
  formatNumber,
  formatShare,
  formatTime,
} from "./format.js";
import { latest, liveError, type Point, points } from "./live.js";
import { Locations } from "./locations.js";

export function Overview() {
  const live = latest.value;
  const times = points.value.map(({ at }) => at);
  const series = (label: string, color: string, field: Exclude<keyof Point, "at">): Series => ({
    label,
    color,
    values: points.value.map((point) => point[field]),
  });
  return (
    <>
      <Failure error={liveError.value} />
      {live !== undefined && <Tiles live={live} />}
      <section aria-label="Charts" class="charts">
        <Chart
          title="Throughput"
          times={times}
          series={[
            series("queries per second", "series-1", "queriesPerSecond"),
            series("requests per second", "series-2", "requestsPerSecond"),
          ]}
          format={formatNumber}
        />
        <Chart
          title="Query latency"
          times={times}
          series={[
            series("p50", "series-1", "p50Ms"),
            series("p95", "series-2", "p95Ms"),
            series("p99", "series-3", "p99Ms"),
          ]}
          format={formatMs}
        />
        <Chart
          title="Errors"
          times={times}
          series={[series("errors per second", "series-3", "errorsPerSecond")]}
          format={formatNumber}
        />
        <Chart
          title="Cache hits"
          times={times}
          series={[series("share of lookups", "series-1", "hitShare")]}
          format={formatShare}
        />
        <Chart
          title="Memory"
          times={times}
          series={[
            series("process", "series-1", "rssBytes"),
            series("heap", "series-2", "heapBytes"),
            series("cache", "series-3", "cacheBytes"),
          ]}
          format={formatBytes}
        />
        <Chart
          title="Event loop"
          times={times}
          series={[series("delay, p99", "series-2", "eventLoopMs")]}
          format={formatMs}
        />
      </section>
      <p class="hint">Charts begin when you sign in.</p>
      <Locations />
      <Errors />
    </>
  );
}

/** The figures that people look for first. */
function Tiles({ live }: { readonly live: Live }) {
  const tiles = [
    ["Queries", formatInteger(live.queries.count), `of ${formatCount(live.requests, "request")}`],
    ["Open indexes", formatInteger(live.openIndexes), "in this process"],
    ["Trainings", formatInteger(live.trainingsRunning), "running now"],
    ["Version", live.version, `started ${formatTime(live.startedAt)}`],
  ];
  return (
    <dl class="tiles">
      {tiles.map(([name, value, note]) => (
        <div key={name} class="card">
          <dt>{name}</dt>
          <dd>
            <strong>{value}</strong> <span class="hint">{note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Errors() {
  const errors = latest.value?.errors ?? [];
  return (
    <section class="card">
      <h2>Errors since the start</h2>
      {errors.length === 0 ? (
        <p>None.</p>
      ) : (
        <dl class="pairs">
          {errors.map(({ code, count }) => (
            <div key={code}>
              <dt>{code}</dt>
              <dd>{formatInteger(count)}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
