/** A link to the items that are similar to one. Its id is not part of the address, which browsers keep on disk. */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

/** Empty: none is chosen. */
export const chosenId = signal("");

interface SimilarLinkProps {
  readonly id: string;
  readonly label?: string;
  readonly children: ComponentChildren;
}

export function SimilarLink({ id, label, children }: SimilarLinkProps) {
  return (
    <a
      href="#/data/similar"
      aria-label={label}
      onClick={() => {
        chosenId.value = id;
      }}
    >
      {children}
    </a>
  );
}
