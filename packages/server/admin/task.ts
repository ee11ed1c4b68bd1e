/** What a person starts and waits for: whether it is running, and why it failed. */

import { type Signal, useSignal } from "@preact/signals";

export interface Task {
  readonly isBusy: Signal<boolean>;
  readonly failure: Signal<unknown>;
  /** Does nothing while earlier work is running: a second click does not start it again. Never rejects. */
  readonly run: (work: () => Promise<void>) => Promise<void>;
}

export function useTask(): Task {
  const isBusy = useSignal(false);
  const failure = useSignal<unknown>(undefined);
  async function run(work: () => Promise<void>): Promise<void> {
    if (isBusy.peek()) return;
    isBusy.value = true;
    failure.value = undefined;
    try {
      await work();
    } catch (error) {
      failure.value = error;
    } finally {
      isBusy.value = false;
    }
  }
  return { isBusy, failure, run };
}
