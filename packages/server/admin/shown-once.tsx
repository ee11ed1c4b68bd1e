/** A new key, which the page shows until it is hidden, and the service never again. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface ShownOnceProps {
  readonly secret: string;
  readonly onDone: () => void;
  readonly children: ComponentChildren;
}

export function ShownOnce({ secret, onDone, children }: ShownOnceProps) {
  const copied = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), [secret]);

  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(secret);
    copied.value = true;
  }

  return (
    <div ref={box} class="once" role="region" aria-label="The new key" tabIndex={-1}>
      <p>{children}</p>
      <p>
        <code class="key">{secret}</code>
      </p>
      <div class="actions">
        {/* Only pages that came over TLS, or from this machine, may write to the clipboard. */}
        {isSecureContext && (
          <button type="button" onClick={() => void copy()}>
            {copied.value ? "Copied" : "Copy"}
          </button>
        )}
        <button type="button" onClick={onDone}>
          Hide
        </button>
      </div>
    </div>
  );
}
