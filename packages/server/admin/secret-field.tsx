/** A field for a key. Browsers neither remember nor offer to store what is typed. */

import { useId } from "preact/hooks";

interface SecretFieldProps {
  readonly name: string;
  readonly label: string;
}

export function SecretField({ name, label }: SecretFieldProps) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      {/* A password manager would keep a "password", and offer it for another key. */}
      <input
        id={id}
        name={name}
        class="secret"
        type="text"
        required
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
      />
    </p>
  );
}
