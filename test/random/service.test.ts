/**
 * Random requests of several clients to two processes of a service, under API keys of every kind, valid and not, at every
 * limit and past it, restarts and clients that leave: the service answers as a plain model does, never with 5xx, and keeps
 * nothing. SEALDEX_FUZZ_REQUESTS says how many, SEALDEX_FUZZ_SEED where they begin.
 */

import { expect, test } from "vitest";
import { repeats } from "../tier.js";
import { createChoice } from "./choice.js";
import { heldBytes } from "./held-bytes.js";
import { ServiceHistory } from "./service-history.js";

const requests = repeats("SEALDEX_FUZZ_REQUESTS", { fast: 50, all: 1000 });
const firstSeed = Number(process.env.SEALDEX_FUZZ_SEED ?? 1);
/** Rounds of about ten requests. */
const roundsOfHistory = Math.min(40, Math.ceil(requests / 10));
/** By which memory may differ between the middle and the end of a run, however long it is. */
const heldBytesMax = 16 * 1024 * 1024;
/** What `fetch` keeps for each address that it ever connected to. */
const addressBytesMax = 32 * 1024;

test("random requests are answered as a plain model would, and leave nothing behind", async () => {
  let made = 0;
  let held = Infinity;
  let services = 0;
  for (let seed = firstSeed; made < requests; seed++) {
    const history = new ServiceHistory(createChoice(seed));
    try {
      await history.run(roundsOfHistory);
    } catch (cause) {
      throw new Error(`seed ${seed}, request ${history.requests}: ${String(cause)}`, { cause });
    }
    made += history.requests;
    services += history.services;
    // What is compiled, and pools that grow once, are there after a part of the requests.
    if (held < Infinity || made < requests / 2) continue;
    held = await heldBytes();
    services = 0;
  }
  expect(await heldBytes()).toBeLessThan(held + heldBytesMax + addressBytesMax * services);
});
