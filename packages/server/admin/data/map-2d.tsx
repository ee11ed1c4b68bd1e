/** A sample of the items as points in a plane: near points are often near items. */

import { useSignal } from "@preact/signals";
import { Failure } from "../failure.js";
import { formatInteger } from "../format.js";
import { useTask } from "../task.js";
import type { Opened } from "./opened.js";
import { projectTo2d } from "./principal-components.js";
import { idsMax, sample, type Sampled } from "./sample.js";
import { SimilarLink } from "./similar-link.js";

interface Point {
  readonly item: Sampled;
  readonly x: number;
  readonly y: number;
}

const sizes = [200, 500, 1000];
const sizeByDefault = 500;
const width = 800;
const height = 500;
const margin = 12;
/** As many values have a color of their own; the others share the last. */
const colorsMax = 6;

export function Map2d({ opened }: { readonly opened: Opened }) {
  const points = useSignal<readonly Point[] | undefined>(undefined);
  const selected = useSignal<Sampled | undefined>(undefined);
  const field = useSignal("");
  const { isBusy, failure, run } = useTask();

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const size = Number(new FormData(event.currentTarget as HTMLFormElement).get("size"));
    selected.value = undefined;
    void run(async () => {
      points.value = place(await sample(opened, size));
    });
  }

  const shown = points.value ?? [];
  const fields = [...new Set(shown.flatMap(({ item }) => Object.keys(item.metadata)))].sort();
  const values = commonValues(shown, field.value);
  return (
    <section class="card" aria-label="Map">
      <form class="actions" onSubmit={submit}>
        <label for="map-size">Items</label>
        <select id="map-size" name="size">
          {sizes.map((size) => (
            <option key={size} value={size} selected={size === sizeByDefault}>
              {formatInteger(size)}
            </option>
          ))}
        </select>
        <button type="submit" class="primary" disabled={isBusy.value}>
          {isBusy.value ? "Drawing…" : "Draw"}
        </button>
        <label for="map-field">Color by</label>
        <select
          id="map-field"
          value={field.value}
          onChange={({ currentTarget }) => {
            field.value = currentTarget.value;
          }}
        >
          <option value="">nothing</option>
          {fields.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </form>
      <Failure error={failure.value} />
      {points.value !== undefined && (
        <svg
          class="map"
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={`${shown.length} items along the two directions in which they differ most`}
        >
          {shown.map(({ item, x, y }) => (
            <circle
              key={item.id}
              cx={x}
              cy={y}
              r={item === selected.value ? 8 : 4}
              class={`${colorOf(item, field.value, values)}${item === selected.value ? " selected" : ""}`}
              onClick={() => {
                selected.value = item;
              }}
            >
              <title>{item.id}</title>
            </circle>
          ))}
        </svg>
      )}
      {values.length > 0 && (
        <ul class="legend" aria-label={`Values of ${field.value}`}>
          {values.map((value, i) => (
            <li key={value} class={`series-${i + 1}`}>
              <span class="value">{value}</span>
            </li>
          ))}
        </ul>
      )}
      <Choice
        items={shown.map(({ item }) => item)}
        selected={selected.value}
        onSelect={(item) => (selected.value = item)}
      />
      <p class="hint">
        A random sample of the first {formatInteger(idsMax)} ids at most, drawn along the two principal
        components, which this page computes.
      </p>
    </section>
  );
}

interface ChoiceProps {
  readonly items: readonly Sampled[];
  readonly selected: Sampled | undefined;
  readonly onSelect: (item: Sampled | undefined) => void;
}

/** What a click on a point does, for the keyboard and screen readers. */
function Choice({ items, selected, onSelect }: ChoiceProps) {
  if (items.length === 0) return null;
  return (
    <>
      <p class="actions">
        <label for="map-item">Item</label>
        <select
          id="map-item"
          value={selected?.id ?? ""}
          onChange={({ currentTarget }) => onSelect(items.find(({ id }) => id === currentTarget.value))}
        >
          <option value="">choose, or click on a point</option>
          {items.map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
      </p>
      {selected !== undefined && (
        <p>
          <code>{selected.id}</code> <code>{JSON.stringify(selected.metadata)}</code>{" "}
          <SimilarLink id={selected.id}>Similar items</SimilarLink>
        </p>
      )}
    </>
  );
}

function place(items: readonly Sampled[]): Point[] {
  const projected = projectTo2d(items.map(({ decoded }) => decoded));
  const scaleX = scaleOf(
    projected.map(([x]) => x),
    width,
  );
  const scaleY = scaleOf(
    projected.map(([, y]) => y),
    height,
  );
  return items.map((item, i) => ({ item, x: scaleX(projected[i][0]), y: scaleY(projected[i][1]) }));
}

/** Maps the range of the values to what is visible. */
function scaleOf(values: readonly number[], extent: number): (value: number) => number {
  const low = values.reduce((least, value) => Math.min(least, value), Infinity);
  const high = values.reduce((most, value) => Math.max(most, value), -Infinity);
  const range = high - low;
  return (value) => (range === 0 ? extent / 2 : margin + ((value - low) / range) * (extent - 2 * margin));
}

/** The most frequent values of a field, as text; of more than there are colors, "others" takes the last. */
function commonValues(points: readonly Point[], field: string): string[] {
  if (field === "") return [];
  const counts = new Map<string, number>();
  for (const { item } of points) {
    const value = textOf(item, field);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const values = [...counts].sort(([, a], [, b]) => b - a).map(([value]) => value);
  return values.length <= colorsMax ? values : [...values.slice(0, colorsMax - 1), "others"];
}

function colorOf(item: Sampled, field: string, values: readonly string[]): string {
  const found = field === "" ? 0 : values.indexOf(textOf(item, field));
  return `series-${found < 0 ? values.length : found + 1}`;
}

function textOf({ metadata }: Sampled, field: string): string {
  const value = metadata[field];
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "none");
}
