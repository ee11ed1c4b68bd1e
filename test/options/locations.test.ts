/** Storage locations take the fields of their kind and refuse others. */

import { expect, test } from "vitest";
import { openLocation } from "../../src/storage/location.js";
import { locationFields, type StorageLocation } from "../../src/storage/storage-location.js";

const bucket = { bucket: "bucket", path: "a", region: "eu-north-1", endpoint: "https://host" };
const keys = { accessKey: "a", secretKey: "s" };
const whole: Record<keyof typeof locationFields, object> = {
  memory: {},
  local: { path: "./nowhere" },
  redis: { connectionString: "redis://h", path: "a", allowEviction: true },
  postgres: { connectionString: "postgres://h/d", tableName: "t" },
  s3: { ...bucket, ...keys },
  gcs: { ...bucket, ...keys },
};
const kinds = Object.keys(whole) as (keyof typeof locationFields)[];

test.each(kinds)("%s takes each of its fields, and no field of another kind", async (kind) => {
  const location = { location: kind, ...whole[kind] } as StorageLocation;
  await openLocation(location).close();
  const own = locationFields[kind].names;
  expect([...own].filter((name) => name !== "client" && !(name in location))).toEqual([]);
  const others = [...new Set(kinds.flatMap((other) => [...locationFields[other].names])), "url"];
  for (const name of others.filter((other) => !own.has(other))) {
    const attempt = () => openLocation({ ...location, [name]: "saffron" } as StorageLocation);
    expect(attempt).toThrow(`storage location ${kind}: unknown property "${name}"`);
    expect(attempt).not.toThrow("saffron");
  }
});

test.each([
  ["redis", "connectionString"],
  ["postgres", "connectionString"],
  ["gcs", "accessKey"],
] as const)("%s with an unset variable as its %s says so", (kind, name) => {
  const location = { location: kind, ...whole[kind], [name]: undefined } as StorageLocation;
  expect(() => openLocation(location)).toThrow(new RegExp(`storage location ${kind}: expected .*${name}`));
});
