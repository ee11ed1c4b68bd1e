/** A storage that accepts connections and never responds. */

import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { connectStdio, Workspace } from "./start-server.js";

test("initialize does not wait for the storage, and every tool answers or reports progress before it does", async () => {
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
    tools.map(({ name }) => client.callTool({ name, arguments: { ...inputs[name] } })),
  );
  // The server's own answer, which it gives after eight seconds: the storage's failure comes later.
  expect(answers).toHaveLength(5);
  for (const answer of answers) {
    expect(answer.isError).toBe(true);
    expect(JSON.stringify(answer.content)).toContain("The storage has not answered yet");
  }

  const reported = Promise.withResolvers<void>();
  const onprogress = () => reported.resolve();
  const pending = client.callTool({ name: "status", arguments: {} }, undefined, { onprogress });
  pending.catch(() => undefined);
  await reported.promise;
  await client.close();
  silent.close();
  workspace.remove();
});
