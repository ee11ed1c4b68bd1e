/** The recall that real queries got, with its interval. */

import type { IndexDescription } from "sealdex/client";
import { formatCount, formatInteger, formatShare } from "../format.js";
import { Table } from "../table.js";

type Measured = NonNullable<IndexDescription["measuredRecall"]>[number];
type Point = Measured["points"][number];

/** Of a drawing, in its own units. */
const [width, height, margin] = [200, 20, 5];
/** The least loss on the axis, which is logarithmic: so .9 and .99 are as far apart as .99 and .999. */
const lossMin = 0.0005;

export function MeasuredRecall({ measured }: { readonly measured: readonly Measured[] | undefined }) {
  return (
    <section class="card">
      <h2>Queries of callers</h2>
      {measured === undefined ? (
        <p>
          Not known yet: the service compares queries that declare a recall with exact answers, in the
          background, and shows the result from 100 queries on.
        </p>
      ) : (
        measured.map((one) => <Depth key={one.topK} {...one} />)
      )}
    </section>
  );
}

function Depth({ topK, queries, points }: Measured) {
  const least = Math.min(...points.flatMap(({ recall, low }) => [recall, low]));
  const from = Math.floor(20 * least) / 20;
  return (
    <>
      <p>
        {formatCount(topK, "neighbor")}, {formatInteger(queries)} queries compared. The dot is the mean, the
        line its 95 % interval, the bar the declared recall.
      </p>
      <Table
        label={`Measured recall of ${topK}`}
        columns={["Declared", "Found", "95 % interval", `${formatShare(from)} to 99.95 %`]}
        numeric={["Declared", "Found", "95 % interval"]}
        rows={points.map((point) => ({
          key: `${point.recall}`,
          cells: [
            formatShare(point.recall),
            formatShare(point.found),
            `${formatShare(point.low)} – ${formatShare(point.high)}`,
            <Interval point={point} from={from} />,
          ],
        }))}
      />
    </>
  );
}

function Interval({ point, from }: { readonly point: Point; readonly from: number }) {
  const x = (share: number) => {
    const part = Math.log((1 - from) / Math.max(1 - share, lossMin)) / Math.log((1 - from) / lossMin);
    return margin + (width - 2 * margin) * part;
  };
  const middle = height / 2;
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      class="interval"
      preserveAspectRatio="xMinYMid"
      aria-hidden="true"
    >
      <line class="axis" x1={margin} x2={width - margin} y1={middle} y2={middle} />
      <line class="declared" x1={x(point.recall)} x2={x(point.recall)} y1={1} y2={height - 1} />
      <line class="found" x1={x(point.low)} x2={x(point.high)} y1={middle} y2={middle} />
      <circle cx={x(point.found)} cy={middle} r={3} />
    </svg>
  );
}
