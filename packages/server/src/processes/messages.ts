/** Messages between the processes of a service, relayed by the supervisor. */

export type FromWorker =
  | { readonly kind: "tell"; readonly topic: string; readonly value: unknown }
  | { readonly kind: "ask"; readonly id: number; readonly topic: string }
  | { readonly kind: "answer"; readonly id: number; readonly value: unknown };

export type ToWorker =
  | { readonly kind: "told"; readonly topic: string; readonly value: unknown }
  | { readonly kind: "asked"; readonly id: number; readonly topic: string }
  | { readonly kind: "answers"; readonly id: number; readonly values: readonly unknown[] }
  | { readonly kind: "stop"; readonly signal: string };
