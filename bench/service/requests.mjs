// The requests of the benchmark, in the order in which they are sent.

import { binary } from "./binary.mjs";
import { others } from "./others.mjs";
import { queries } from "./queries.mjs";
import { upserts } from "./upserts.mjs";
import { words } from "./words.mjs";

export const requests = [...upserts, ...words, ...queries, ...binary, ...others];
