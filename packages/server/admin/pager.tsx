/** Buttons that go from page to page of a list. */

import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

interface PagerProps {
  /** Where each page from the second on begins. */
  readonly starts: Signal<readonly string[]>;
  /** Where the next page begins. Undefined: there is none, or it is not known yet. */
  readonly next: string | undefined;
  readonly labels?: readonly [back: string, forward: string];
  readonly children?: ComponentChildren;
}

export function Pager({ starts, next, labels = ["Previous", "Next"], children }: PagerProps) {
  const [back, forward] = labels;
  if (starts.value.length === 0 && next === undefined) return <div class="actions">{children}</div>;
  return (
    <div class="actions">
      <button
        type="button"
        disabled={starts.value.length === 0}
        onClick={() => {
          starts.value = starts.value.slice(0, -1);
        }}
      >
        {back}
      </button>
      <button
        type="button"
        disabled={next === undefined}
        onClick={() => {
          if (next !== undefined) starts.value = [...starts.value, next];
        }}
      >
        {forward}
      </button>
      {children}
    </div>
  );
}
