/**
 * Before the tests: starts the servers that this machine has, all at once, or takes those that the environment
 * names. Tests get their addresses by `inject("servers")`. Without a server its tests are skipped, which is said;
 * under CI it is an error.
 */

import type { TestProject } from "vitest/node";
import { testServers } from "./all.js";
import type { RunningServer } from "./test-server.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Addresses by the server's name. */
    servers: Readonly<Record<string, string>>;
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const running: RunningServer[] = [];
  const stopAll = async () => void (await Promise.all(running.map((server) => server.stop())));
  const addresses: Record<string, string> = {};
  const skipped = testServers.filter(({ variable, isInstalled }) => !process.env[variable] && !isInstalled());
  if (skipped.length > 0) reportSkipped();

  const starts = testServers.map(async ({ name, variable, isInstalled, start }) => {
    const given = process.env[variable];
    if (given) addresses[name] = given;
    else if (isInstalled()) {
      const server = await start();
      running.push(server);
      addresses[name] = server.address;
    }
  });
  const failures = (await Promise.allSettled(starts)).filter((start) => start.status === "rejected");
  if (failures.length > 0) {
    await stopAll();
    throw new AggregateError(
      failures.map(({ reason }) => reason as unknown),
      "servers for tests did not start",
    );
  }
  project.provide("servers", addresses);
  return stopAll;

  function reportSkipped(): void {
    const names = skipped.map(({ name }) => name).join(", ");
    const packages = [...new Set(skipped.flatMap((server) => server.packages))].join(" ");
    const variables = skipped.map(({ variable }) => variable).join(", ");
    const message =
      `No server found for: ${names}. To run their tests: apt-get install ${packages}, ` +
      `or give addresses in ${variables}; CONTRIBUTING.md says more.`;
    if (process.env.CI === "true") throw new Error(message);
    process.stderr.write(`Skipped. ${message}\n`);
  }
}
