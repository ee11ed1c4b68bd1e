/** What went wrong, said at once to a screen reader. */

import { SealdexError } from "sealdex/client";

export function Failure({ error }: { readonly error: unknown }) {
  return <div role="alert">{error !== undefined && <p class="failure">{messageOf(error)}</p>}</div>;
}

/** Whether the service lacks what a view needs, by its settings. */
export function isUnsupported(error: unknown): boolean {
  return error instanceof SealdexError && error.code === "not_supported";
}

function messageOf(error: unknown): string {
  if (error instanceof SealdexError) return `${error.message} (${error.code})`;
  return error instanceof Error ? error.message : String(error);
}
