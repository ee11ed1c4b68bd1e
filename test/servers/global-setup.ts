/**
 * Before the tests: starts the servers that this machine has, all at once, or takes those that the environment
 * names. Tests get their addresses by `inject("servers")`. Without a server its tests are skipped, and with an address alone
 * those that start a server of their own, to break it. Either is said; under CI it is an error.
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
  const absent = testServers.filter(({ isInstalled }) => !isInstalled());
  if (absent.length > 0) reportSkipped();

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
    const list = (all: typeof absent) => all.map(({ name }) => name).join(", ");
    const given = absent.filter(({ variable }) => process.env[variable]);
    const missing = absent.filter((server) => !given.includes(server));
    const packages = [...new Set(absent.flatMap((server) => server.packages))].join(" ");
    const message = [
      ...(missing.length > 0 ? [`No server found for: ${list(missing)}.`] : []),
      ...(given.length > 0 ? [`Not installed, so not restarted by tests: ${list(given)}.`] : []),
      `To run their tests: apt-get install ${packages}`,
      ...(missing.length > 0
        ? [`or addresses in ${missing.map(({ variable }) => variable).join(", ")}`]
        : []),
    ].join(" ");
    if (process.env.CI === "true") throw new Error(`${message}; CONTRIBUTING.md says more.`);
    process.stderr.write(`Skipped. ${message}; CONTRIBUTING.md says more.\n`);
  }
}
