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

test.each([
  ["~", /got one with ~, which is not expanded: write join\(homedir\(\), …\), or \.\/~/],
  ["~/data", /got one with ~/],
  ["~saffron/data", /got one with ~/],
  ["$HOME/data", /got one with a variable, which is not expanded: write its value$/],
  ["/data/$TENANT", /got one with a variable/],
  ["/data/${TENANT}/x", /got one with a variable/],
  ["a-${TENANT}", /got one with a variable/],
  ["%APPDATA%\\data", /got one with a variable/],
  ["file:///data", /got a URL: write a path, such as fileURLToPath\(url\)$/],
  ["file:data", /got a URL/],
  ["s3://bucket/data", /got a URL/],
  ["", /got an empty string or a NUL character$/],
  ["a\0b", /got an empty string or a NUL character$/],
  [new URL("file:///data"), /got object$/],
  [undefined, /got undefined$/],
])("a local path of %j is refused: it would make a folder of this name", (path, expected) => {
  const attempt = () => openLocation({ location: "local", path } as StorageLocation);
  expect(attempt).toThrow(/^storage location local: path: expected a path/);
  expect(attempt).toThrow(expected);
  expect(attempt).not.toThrow("saffron");
});

test.each([
  "./~",
  "a~b",
  "/data/~x",
  "a$b",
  "C:\\data",
  "\\\\host\\share$\\data",
  "100%",
  "50% of 100%",
  "$",
  "./a:b",
])("a local path of %j is one", async (path) => openLocation({ location: "local", path }).close());
