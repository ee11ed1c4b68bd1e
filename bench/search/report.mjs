// What was measured, as Markdown and as charts.

import { lineChart, logTicks } from "./chart.mjs";

const recallTicks = [0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1];
/** By what is missed, so that the recalls that matter are not crowded at the edge. */
const placeOfRecall = (recall) => -Math.log10(1.002 - recall);
/** Engines whose best is the one that Sealdex is set beside. */
const isOurs = (engine) => engine.startsWith("sealdex");

export const heading = (k) =>
  `| engine | setting | recall@${k} | queries/s | p50 (µs) | p99 (µs) | build (s) | build, CPU (s) | disk (MiB) | RSS (MiB) |\n` +
  "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|";

export function tableRow(line) {
  const mebibytes = (bytes) => (bytes / 2 ** 20).toFixed(0);
  const cells = [
    line.engine,
    line.setting,
    line.recall.toFixed(4),
    line.queriesPerSecond.toFixed(0),
    line.p50.toFixed(0),
    line.p99.toFixed(0),
    line.buildSeconds.toFixed(1),
    line.buildCpuSeconds.toFixed(1),
    line.diskBytes === 0 ? "-" : mebibytes(line.diskBytes),
    mebibytes(line.rssBytes),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** The fastest setting of each engine that reaches the recall, by median time, on which other work weighs least. */
function fastestAt(lines, recall) {
  const best = new Map();
  for (const line of lines) {
    const rival = best.get(line.engine);
    if (line.recall >= recall && !(rival?.p50 <= line.p50)) best.set(line.engine, line);
  }
  return best;
}

/** Sentences: queries per second at equal recall, and time of building, of Sealdex relative to the others. */
export function comparison(lines, k) {
  const sentences = [];
  for (const recall of [0.95, 0.99]) {
    const best = fastestAt(lines, recall);
    const ours = best.get("sealdex");
    if (ours === undefined) continue;
    for (const [engine, line] of best) {
      if (isOurs(engine)) continue;
      const rate = (ours.queriesPerSecond / line.queriesPerSecond).toFixed(2);
      const median = (line.p50 / ours.p50).toFixed(2);
      const settings = `settings ${ours.setting} and ${line.setting}`;
      sentences.push(
        `At recall@${k} >= ${recall}: ${rate} times the queries per second of ${engine}, by p50 ${median} times (${settings}).`,
      );
    }
  }
  const built = (name) => lines.find(({ engine }) => engine === name);
  for (const peer of ["hnswlib-node", "hnswlib-node, native"]) {
    const [ours, theirs] = [built("sealdex"), built(peer)];
    if (ours === undefined || theirs === undefined) continue;
    const ratio = (theirs.buildSeconds / ours.buildSeconds).toFixed(1);
    const cpuRatio = (theirs.buildCpuSeconds / ours.buildCpuSeconds).toFixed(1);
    sentences.push(
      `Stored, trained, encrypted and durable in ${ours.buildSeconds.toFixed(1)} s; ${peer} builds in memory in ${theirs.buildSeconds.toFixed(1)} s: ${ratio} times (${cpuRatio} times the processor time).`,
    );
  }
  return sentences.map((sentence) => `- ${sentence}`).join("\n");
}

/** Recalls at which the times of engines are set side by side. */
const comparedRecalls = [0.9, 0.95, 0.98, 0.99];

/** Per engine p50 and p99 at some recalls, and the time of building. */
export function timesTable(lines, k) {
  const heads = comparedRecalls.flatMap((recall) => [`p50 at ${recall}`, "p99"]);
  const rows = [...new Set(lines.map(({ engine }) => engine))].map((name) => {
    const own = lines.filter(({ engine }) => engine === name);
    const times = comparedRecalls.flatMap((recall) => timesAt(own, recall));
    const cells = [name, ...times.map((time) => time?.toFixed(0) ?? "-"), own[0].buildSeconds.toFixed(1)];
    return `| ${cells.join(" | ")} |`;
  });
  const head = `| recall@${k}, µs | ${heads.join(" | ")} | build (s) |\n|---|${"---:|".repeat(heads.length + 1)}`;
  return [head, ...rows].join("\n");
}

/** p50 and p99 of one engine at a recall: between the two settings around it, or of the first if all find more. */
function timesAt(lines, recall) {
  const useful = lines.filter(
    (line) => !lines.some((other) => other.recall >= line.recall && other.p50 < line.p50),
  );
  const ranked = useful.sort((a, b) => a.recall - b.recall);
  const above = ranked.find((line) => line.recall >= recall);
  if (above === undefined) return [undefined, undefined];
  const below = ranked.findLast((line) => line.recall < recall) ?? above;
  const [from, to] = [below.recall, above.recall].map(placeOfRecall);
  const share = from === to ? 1 : (placeOfRecall(recall) - from) / (to - from);
  return ["p50", "p99"].map((name) => below[name] ** (1 - share) * above[name] ** share);
}

/** Recall on x, and on y the queries per second that the median time allows: other work on the machine weighs least on it. */
export function recallChart(dataset, lines, k = 10) {
  const engines = [...new Set(lines.map(({ engine }) => engine))];
  const points = lines
    .filter(({ recall }) => recall >= recallTicks[0])
    .map(({ engine, recall, p50 }) => ({ engine, at: [recall, 1e6 / p50] }));
  return lineChart({
    title: `${dataset}: queries per second at recall@${k}, one thread`,
    x: { label: `recall@${k}`, ticks: recallTicks, place: placeOfRecall },
    y: {
      label: "queries per second, by the median time",
      ticks: logTicks(points.map(({ at: [, rate] }) => rate)),
      place: Math.log10,
    },
    lines: engines.map((name) => ({
      name,
      points: points
        .filter(({ engine }) => engine === name)
        .map(({ at }) => at)
        .sort((a, b) => a[0] - b[0] || b[1] - a[1]),
    })),
  });
}

/** `growth`: [n, lines of the synthetic set of n vectors][]. The median time of one query at recall 0.95. */
export function growthOf(growth) {
  const engines = new Map();
  for (const [n, lines] of growth) {
    for (const [engine, line] of fastestAt(lines, 0.95)) {
      if (!engines.has(engine)) engines.set(engine, []);
      engines.get(engine).push([n, line.p50]);
    }
  }
  return engines;
}

export function growthTable(growth) {
  const sizes = growth.map(([n]) => n);
  const rows = [...growthOf(growth)].map(([engine, points]) => {
    const times = sizes.map((size) => points.find(([n]) => n === size)?.[1]);
    const whole = times[0] !== undefined && times.at(-1) !== undefined;
    const ratio = whole ? (times.at(-1) / times[0]).toFixed(1) : "-";
    return `| ${[engine, ...times.map((time) => time?.toFixed(0) ?? "-"), ratio].join(" | ")} |`;
  });
  const heads = sizes.map((size) => `n = ${size.toLocaleString("en")} (µs)`);
  return [
    `| engine | ${heads.join(" | ")} | ratio |`,
    `|---|${"---:|".repeat(sizes.length + 1)}`,
    ...rows,
  ].join("\n");
}

export function growthChart(growth) {
  const lines = [...growthOf(growth)].map(([name, points]) => ({ name, points }));
  return lineChart({
    title: "Median time of one query at recall@10 >= 0.95 as the index grows",
    x: { label: "vectors of 384 dimensions", ticks: growth.map(([n]) => n), place: Math.log10 },
    y: {
      label: "p50 of one query (µs)",
      ticks: logTicks(lines.flatMap(({ points }) => points.map(([, time]) => time))),
      place: Math.log10,
    },
    lines,
  });
}
