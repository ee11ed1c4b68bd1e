/** A dialog over the page. Escape closes it. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface ModalProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Modal({ title, onClose, children }: ModalProps) {
  const id = useId();
  return (
    <dialog ref={show} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

function show(dialog: HTMLDialogElement | null): void {
  if (dialog?.open === false) dialog.showModal();
}
