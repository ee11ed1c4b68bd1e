// Line charts as SVG, readable on light and on dark ground.

const width = 900;
const height = 520;
const frame = { left: 90, right: 660, top: 50, bottom: 450 };
/** Colours that stand out from white and from near-black alike. */
const colours = [
  "#d1495b",
  "#2f83d6",
  "#2a9d62",
  "#c47f17",
  "#8d63d2",
  "#1698a6",
  "#c355a6",
  "#7a8a2b",
  "#8a7466",
  "#7b8794",
];

/**
 * `lines`: { name, points: [[x, y], …] }[] in the order of their legend; `x` and `y`: { label, ticks: number[], place }, axes
 * that reach from the first tick to the last, where `place` of a value says how far along it lies. Points beyond an axis are left out. Returns the document.
 */
export function lineChart({ title, x, y, lines }) {
  const across = scale(x, frame.left, frame.right);
  const up = scale(y, frame.bottom, frame.top);
  const within = ([a, b]) => a >= x.ticks[0] && a <= x.ticks.at(-1) && b >= y.ticks[0] && b <= y.ticks.at(-1);
  const middle = (frame.left + frame.right) / 2;
  const centre = (frame.top + frame.bottom) / 2;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    ` font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="${escaped(title)}">`,
    "<style>.ground{fill:#fff}text{fill:#24292f}.grid{stroke:#d9dee3}",
    "@media(prefers-color-scheme:dark){.ground{fill:#12161b}text{fill:#e3e8ed}.grid{stroke:#343c45}}</style>",
    `<rect class="ground" width="${width}" height="${height}"/>`,
    text(middle, 28, title, 'text-anchor="middle" font-size="16" font-weight="600"'),
    text(middle, height - 16, x.label, 'text-anchor="middle"'),
    text(20, centre, y.label, `text-anchor="middle" transform="rotate(-90 20 ${centre})"`),
    ...x.ticks.flatMap((tick) => [
      `<path class="grid" d="M${across(tick)} ${frame.top}V${frame.bottom}"/>`,
      text(across(tick), frame.bottom + 20, number(tick), 'text-anchor="middle"'),
    ]),
    ...y.ticks.flatMap((tick) => [
      `<path class="grid" d="M${frame.left} ${up(tick)}H${frame.right}"/>`,
      text(frame.left - 8, up(tick) + 4, number(tick), 'text-anchor="end"'),
    ]),
    ...lines.flatMap(({ name, points }, i) => {
      const at = points.filter(within).map(([a, b]) => [round(across(a)), round(up(b))]);
      const legend = frame.top + 12 + 24 * i;
      return [
        `<polyline fill="none" stroke="${colours[i % colours.length]}" stroke-width="2" points="${at.join(" ")}"/>`,
        ...at.map((point) => mark(i, point)),
        mark(i, [frame.right + 24, legend]),
        text(frame.right + 38, legend + 4, name, ""),
      ];
    }),
    "</svg>",
  ];
  return `${parts.join("\n")}\n`;
}

/** Ticks of a logarithmic axis: the 1, 2 and 5 of every power of ten around the values. */
export function logTicks(values) {
  const ticks = [];
  for (let power = -3; power < 10; power++) for (const digit of [1, 2, 5]) ticks.push(digit * 10 ** power);
  const least = Math.min(...values);
  const most = Math.max(...values);
  const first = ticks.findLastIndex((tick) => tick <= least);
  return ticks.slice(first, ticks.findIndex((tick) => tick >= most && tick > ticks[first]) + 1);
}

function scale({ ticks, place }, from, to) {
  const [least, most] = [place(ticks[0]), place(ticks.at(-1))];
  return (value) => round(from + ((place(value) - least) / (most - least)) * (to - from));
}

/** Shapes differ as well as colours, for those who see colours otherwise. */
function mark(line, [x, y]) {
  const colour = `fill="${colours[line % colours.length]}"`;
  if (line % 3 === 0) return `<circle ${colour} cx="${x}" cy="${y}" r="4"/>`;
  if (line % 3 === 1) return `<rect ${colour} x="${x - 4}" y="${y - 4}" width="8" height="8"/>`;
  return `<path ${colour} d="M${x} ${y - 5}l5 9h-10z"/>`;
}

function text(x, y, content, attributes) {
  return `<text x="${x}" y="${y}" ${attributes}>${escaped(content)}</text>`;
}

function number(value) {
  return value >= 1000 ? value.toLocaleString("en") : String(Number(value.toPrecision(3)));
}

function round(value) {
  return Math.round(value * 10) / 10;
}

function escaped(content) {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
