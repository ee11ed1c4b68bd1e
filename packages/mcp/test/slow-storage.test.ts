/** A storage that accepts connections and never responds. */

import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { connectStdio, Workspace } from "./start-server.js";

test("initialize does not wait for the storage, and every tool answers or reports progress in ten seconds", async () => {
  const workspace = new Workspace();
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const location = `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const client = await connectStdio(["--key-file", workspace.keyFile, "--location", location]);
  const { tools } = await client.listTools();
  const inputs: Record<string, object> = {
    search: { query: "a" },
    read: { document: "a" },
    status: {},
    remember: { text: "a" },
    forget: { document: "a" },
  };
  const answers = await Promise.all(
    tools.map(async ({ name }) => {
      const started = performance.now();
      const result = await client.callTool({ name, arguments: { ...inputs[name] } });
      return { isError: result.isError, seconds: (performance.now() - started) / 1000 };
    }),
  );
  expect(answers).toHaveLength(5);
  for (const { isError, seconds } of answers) {
    expect(isError).toBe(true);
    expect(seconds).toBeLessThan(10);
  }

  const started = performance.now();
  const reported = Promise.withResolvers<number>();
  const onprogress = () => reported.resolve((performance.now() - started) / 1000);
  const pending = client.callTool({ name: "status", arguments: {} }, undefined, { onprogress });
  pending.catch(() => undefined);
  expect(await reported.promise).toBeLessThan(10);
  await client.close();
  silent.close();
  workspace.remove();
});
