/**
 * Who is signed in: an admin API key, held in the memory of this tab alone. Nothing sends it by itself, as a browser would a
 * cookie, so no other site can use it; reloading the page signs out.
 */

import { computed, signal } from "@preact/signals";
import { createClient, SealdexError } from "sealdex/client";
import type { Live } from "./answers.js";

/** The address of the service, from this page's: it may be served under a path of its own. */
const baseUrl = new URL("..", document.baseURI).href.replace(/\/$/, "");

const apiKey = signal<string | undefined>(undefined);

export const isSignedIn = computed(() => apiKey.value !== undefined);
/** Why the service has signed the person out, if it has. */
export const signOutReason = signal<string | undefined>(undefined);

/** Throws `SealdexError` if the service does not accept the key, or it is not one of an admin. */
export async function signIn(key: string): Promise<void> {
  await ask<Live>("GET", "/v1/admin/live", undefined, key);
  signOutReason.value = undefined;
  apiKey.value = key;
}

export function signOut(reason?: string): void {
  signOutReason.value = reason;
  apiKey.value = undefined;
}

/** A client of this service with the key that is signed in. */
export function newClient() {
  return createClient({ baseUrl, apiKey: apiKey.value });
}

/** Property names arrive in camelCase. Throws `SealdexError`; signs out if the key is not accepted any more. */
export async function ask<T>(method: string, path: string, body?: object, key = apiKey.value): Promise<T> {
  try {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        "X-API-Key": key ?? "",
        // Errors with their code in the body.
        Accept: "application/vnd.sealdex+json",
        ...(body && { "Content-Type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
      redirect: "error",
      cache: "no-store",
    });
    const answer = (await response.json()) as { code?: string; detail?: string };
    if (response.ok) return camelCase(answer) as T;
    throw new SealdexError((answer.code ?? "internal") as SealdexError["code"], answer.detail ?? "");
  } catch (error) {
    if (!(error instanceof SealdexError)) {
      throw new SealdexError("storage_unavailable", "The service does not respond.", { cause: error });
    }
    if (error.code === "unauthenticated" && key === apiKey.value)
      signOut("The API key is not accepted any more.");
    throw error;
  }
}

function camelCase(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(camelCase);
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      camelCase(value),
    ]),
  );
}
