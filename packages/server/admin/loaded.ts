/** What a view asks the service for: as a signal of the answer, or of why there is none. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export interface Loaded<T> {
  /** Undefined until there is an answer. */
  readonly value: Signal<T | undefined>;
  readonly error: Signal<unknown>;
  /** Asks again. Never rejects. */
  readonly reload: () => Promise<void>;
}

/** Asks when the view is shown, and whenever one of `inputs` has changed. */
export function useLoaded<T>(load: () => Promise<T>, inputs: readonly unknown[] = []): Loaded<T> {
  const value = useSignal<T | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const latest = useSignal(0);
  async function reload(): Promise<void> {
    const turn = ++latest.value;
    try {
      const loaded = await load();
      if (turn !== latest.peek()) return;
      value.value = loaded;
      error.value = undefined;
    } catch (reason) {
      if (turn === latest.peek()) error.value = reason;
    }
  }
  useEffect(() => void reload(), inputs);
  return { value, error, reload };
}
