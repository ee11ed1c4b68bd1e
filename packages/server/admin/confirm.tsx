/** Asks before something that cannot be undone. */

import type { ComponentChildren } from "preact";
import { Failure } from "./failure.js";
import { Modal } from "./modal.js";
import { useTask } from "./task.js";

interface ConfirmProps {
  readonly title: string;
  /** The text of the button that confirms. */
  readonly action: string;
  readonly work: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Closes when the work is done, and stays open with the error if it fails. */
export function Confirm({ title, action, work, onClose, children }: ConfirmProps) {
  const { isBusy, failure, run } = useTask();
  const confirm = (dialog: HTMLDialogElement | null) =>
    run(async () => {
      await work();
      dialog?.close();
    });

  return (
    <Modal title={title} onClose={onClose}>
      {children}
      <Failure error={failure.value} />
      <form method="dialog" class="actions">
        <button type="submit">Keep it</button>
        <button
          type="button"
          class="danger"
          disabled={isBusy.value}
          onClick={(event) => void confirm(event.currentTarget.closest("dialog"))}
        >
          {action}
        </button>
      </form>
    </Modal>
  );
}
