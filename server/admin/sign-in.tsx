/** Asks for an admin API key. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Failure } from "./failure.js";
import { signIn, signOutReason } from "./session.js";
import { SecretField } from "./secret-field.js";

export function SignIn() {
  const failure = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  useEffect(() => {
    document.title = "Sign in – Sealdex";
  }, []);

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const apiKey = String(new FormData(form).get("apiKey")).trim();
    isBusy.value = true;
    failure.value = undefined;
    try {
      await signIn(apiKey);
    } catch (error) {
      failure.value = error;
    } finally {
      isBusy.value = false;
    }
  }

  return (
    <main class="sign-in">
      <h1>Sealdex</h1>
      <form onSubmit={(event) => void submit(event)}>
        <SecretField name="apiKey" label="Admin API key" />
        <p class="hint">The key stays in the memory of this tab. Reloading the page signs you out.</p>
        <button type="submit" class="primary" disabled={isBusy.value}>
          {isBusy.value ? "Signing in…" : "Sign in"}
        </button>
        {signOutReason.value !== undefined && failure.value === undefined && (
          <p role="status">{signOutReason.value}</p>
        )}
        <Failure error={failure.value} />
      </form>
    </main>
  );
}
