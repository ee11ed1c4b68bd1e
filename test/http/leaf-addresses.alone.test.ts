/** The addresses that DNS has for the name of leaves, as they change. */

import { afterEach, expect, test, vi } from "vitest";
import { parseLeaves } from "../../packages/server/src/leaves/leaf-addresses.js";

const addresses = vi.hoisted(() => ({ ofName: ["10.0.0.1"] as string[] | undefined }));
vi.mock("node:dns/promises", () => ({
  lookup: async () => {
    if (addresses.ofName === undefined) throw new Error("getaddrinfo EAI_AGAIN");
    return addresses.ofName.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  },
}));

afterEach(() => vi.useRealTimers());

test("the first query after a pause gets the addresses of now, and the last ones while DNS fails", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const find = parseLeaves("dns://leaf:80", "LEAVES");
  expect(await find()).toEqual(["http://10.0.0.1:80"]);
  addresses.ofName = ["fd00::2", "10.0.0.2"];
  vi.advanceTimersByTime(4999);
  expect(await find()).toEqual(["http://10.0.0.1:80"]);
  vi.advanceTimersByTime(60_000);
  const found = await find();
  expect(found).toEqual(["http://10.0.0.2:80", "http://[fd00::2]:80"]);
  addresses.ofName = undefined;
  vi.advanceTimersByTime(60_000);
  expect(await find()).toBe(found);
});
