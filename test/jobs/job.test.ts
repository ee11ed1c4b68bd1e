/** Jobs that a queue may hold. */

import { expect, test } from "vitest";
import { takeJob } from "../../packages/server/src/jobs/job.js";

const ingest = { kind: "ingest", index: "i", from: "s3://bucket/path", part: "0/2" };

test.each([ingest, { kind: "train", index: "i" }, { kind: "compact", index: "i" }])("%j is a job", (job) => {
  expect(takeJob(job)).toEqual(job);
});

test.each<[string, unknown]>([
  ["nothing", undefined],
  ["a text", "train"],
  ["another kind", { kind: "delete", index: "i" }],
  ["no index", { kind: "train" }],
  ["an index that is no text", { kind: "train", index: ["i"] }],
  ["an inherited index", Object.assign(Object.create({ index: "i" }) as object, { kind: "train" })],
  ["a key", { ...ingest, indexKey: "0".repeat(64) }],
  ["no part", { ...ingest, part: undefined }],
  ["a part outside of all", { ...ingest, part: "2/2" }],
  ["a part to train", { ...ingest, kind: "train" }],
  ["another location", { ...ingest, from: "redis://host" }],
  ["an access key", { ...ingest, from: "s3://key:secret@bucket/path" }],
])("a job with %s is refused", (_, job) => {
  expect(() => takeJob(job)).toThrow(/^(job|--part|--from): expected/);
});
