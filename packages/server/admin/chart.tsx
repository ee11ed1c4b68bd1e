/** A chart of values over time, and the newest of them as text. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { formatClock } from "./format.js";

export interface Series {
  readonly label: string;
  /** Of a custom property of the style sheet. */
  readonly color: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  /** Milliseconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

const height = 150;
const axisWidth = 64;
const axisHeight = 26;
/** Room for the half of the last time beyond the end of the axis. */
const padding: uPlot.Padding = [8, 28, 0, 0];
const darkScheme = matchMedia("(prefers-color-scheme: dark)");

export function Chart({ title, times, series, format }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = [times.map((at) => at / 1000), ...series.map(({ values }) => values)] as uPlot.AlignedData;
  const newest = useRef(data);
  newest.current = data;

  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(element, series, format), newest.current, element);
    };
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    draw();
    resized.observe(element);
    darkScheme.addEventListener("change", draw);
    return () => {
      resized.disconnect();
      darkScheme.removeEventListener("change", draw);
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [times]);

  return (
    <figure class="chart card">
      <figcaption>
        <h2>{title}</h2>
        <ul class="legend">
          {series.map(({ label, color, values }) => (
            <li key={label} class={color}>
              {label} <output>{textOf(values.at(-1), format)}</output>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={host} class="plot" aria-hidden="true" />
    </figure>
  );
}

function textOf(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "–" : format(value);
}

function optionsOf(
  element: HTMLElement,
  series: readonly Series[],
  format: (value: number) => string,
): uPlot.Options {
  const style = getComputedStyle(element);
  const colorOf = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const axis: uPlot.Axis = {
    stroke: colorOf("muted"),
    grid: { stroke: colorOf("line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui",
  };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    padding,
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? 1.1 * max : 1] } },
    axes: [
      {
        ...axis,
        space: 90,
        size: axisHeight,
        values: (_plot, splits) => splits.map((seconds) => formatClock(1000 * seconds)),
      },
      { ...axis, size: axisWidth, values: (_plot, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...series.map(({ label, color }) => ({
        label,
        stroke: colorOf(color),
        width: 2,
        spanGaps: false,
        points: { show: false },
      })),
    ],
  };
}
