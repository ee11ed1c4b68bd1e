/** Asks for an admin API key. */

import { useEffect } from "preact/hooks";
import { Failure } from "./failure.js";
import { signIn, signOutReason } from "./session.js";
import { SecretField } from "./secret-field.js";
import { useTask } from "./task.js";

export function SignIn() {
  const { isBusy, failure, run } = useTask();
  useEffect(() => {
    document.title = "Sign in – Sealdex";
  }, []);

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const apiKey = String(new FormData(form).get("apiKey")).trim();
    void run(() => signIn(apiKey));
  }

  return (
    <main class="sign-in">
      <h1 class="brand">
        <img src="favicon.svg" alt="" width="36" height="36" /> Sealdex
      </h1>
      <form onSubmit={submit}>
        <SecretField name="apiKey" label="Admin API key" />
        <p class="hint">
          The root key of the service, one of <code>SEALDEX_API_KEYS</code>, or a key from{" "}
          <code>sealdex-server keys create --name me --scope admin</code>. It stays in the memory of this tab;
          reloading the page signs you out.
        </p>
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
