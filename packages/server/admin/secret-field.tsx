/** A field for a key. Browsers neither remember nor offer to store what is typed. */

import { useId } from "preact/hooks";

interface SecretFieldProps {
  readonly name: string;
  readonly label: string;
  /** A regular expression, and the words for it. */
  readonly pattern?: readonly [pattern: string, meaning: string];
}

export function SecretField({ name, label, pattern }: SecretFieldProps) {
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
        pattern={pattern?.[0]}
        title={pattern?.[1]}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
      />
    </p>
  );
}
