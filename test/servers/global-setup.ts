/**
 * Before the tests of the full tier: starts every server, all at once, or takes those that the environment names. Tests get
 * their addresses by `inject("servers")`. A server that is missing is an error.
 */

import type { TestProject } from "vitest/node";
import { testServers } from "./all.js";
import type { RunningServer } from "./test-server.js";

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  reportMissing();
  const running: RunningServer[] = [];
  const stopAll = async () => void (await Promise.all(running.map((server) => server.stop())));
  const addresses: Record<string, string> = {};
  const starts = testServers.map(async ({ name, variable, start }) => {
    const address = process.env[variable];
    if (address) {
      addresses[name] = address;
      return;
    }
    const server = await start();
    running.push(server);
    addresses[name] = server.address;
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
}

/** Without its programs, a server that the environment names is used, but no test can restart it: those are skipped. */
function reportMissing(): void {
  const absent = testServers.filter(({ isInstalled }) => !isInstalled());
  if (absent.length === 0) return;
  const missing = absent.filter(({ variable }) => !process.env[variable]);
  const list = (all: typeof absent) => all.map(({ name }) => name).join(", ");
  const packages = [...new Set(absent.flatMap((server) => server.packages))].join(" ");
  const install = `apt-get install --no-install-recommends ${packages}; CONTRIBUTING.md says more.`;
  if (missing.length > 0) {
    const variables = missing.map(({ variable }) => variable).join(", ");
    throw new Error(
      `no server found for: ${list(missing)}. Set ${variables} or ${install} npm test needs none.`,
    );
  }
  process.stderr.write(`Not installed, so tests that restart it are skipped: ${list(absent)}. ${install}\n`);
}
