// The requests of the benchmark, in the order in which they are sent.

import { others } from "./others.mjs";
import { queries } from "./queries.mjs";
import { upserts } from "./upserts.mjs";

export const requests = [...upserts, ...queries, ...others];
