/** The files of deploy/: every setting and every metric that they name exists, and what they promise of the service holds. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { parseConfigFile } from "../../packages/server/src/settings/config-file.js";
import { parsePart } from "../../packages/server/src/jobs/split-input.js";
import { measureCache } from "../../packages/server/src/metrics/measure.js";
import { Metrics } from "../../packages/server/src/metrics/metrics.js";
import { loadSettings } from "../../packages/server/src/settings/load-settings.js";
import { readSettings } from "../../packages/server/src/settings/settings.js";
import { variables } from "../../packages/server/src/settings/settings-help.js";
import { createClient } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { newFolder } from "../folder.js";
import { startService } from "../http/service.js";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../packages/server/deploy");
const text = (name: string) => readFileSync(join(folder, name), "utf8");
const names = variables.map(({ name }) => name);

/** The names of metrics in an expression of Prometheus, without what it adds to those of histograms. */
function metricsIn(expression: string): string[] {
  const found = expression.replaceAll(/"[^"]*"/g, "").match(/\b(?:sealdex|process|nodejs)_\w+/g) ?? [];
  return found.map((name) => name.replace(/_(?:bucket|sum|count)$/, ""));
}

async function knownMetrics(): Promise<Set<string>> {
  const metrics = new Metrics();
  const client = createClient({ indexLocation: { location: "memory" } });
  measureCache(metrics, client);
  const service = await startService({
    metrics,
    indexLocation: metrics.observed(createMemoryStore(), "index"),
  });
  await service.get("/v1/indexes/list");
  const known = (await metrics.values()).map(({ name }) => name);
  await service.close();
  await client.close();
  // What the command adds: see commands/serve.ts.
  const source = readFileSync(join(folder, "../src/commands/serve.ts"), "utf8");
  return new Set([...known, ...(source.match(/(?<=")sealdex_\w+(?=")/g) ?? [])]);
}

test("the dashboard and the alerts ask for metrics that exist", async () => {
  const known = await knownMetrics();
  const { panels } = JSON.parse(text("grafana-dashboard.json")) as {
    readonly panels: readonly {
      readonly id: number;
      readonly targets: readonly { readonly expr: string }[];
    }[];
  };
  const { groups } = parse(text("prometheus-alerts.yaml")) as {
    readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
  };
  const expressions = [
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
  ];
  expect(expressions.length).toBeGreaterThan(20);
  for (const expression of expressions) {
    const asked = metricsIn(expression);
    expect(asked.length, expression).toBeGreaterThan(0);
    expect([...known], expression).toEqual(expect.arrayContaining(asked));
  }
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});

test("the pods of an ingest have a part each", () => {
  const { spec } = parse(text("kubernetes-ingest/job.yaml")) as {
    readonly spec: {
      readonly completions: number;
      readonly template: { readonly spec: { readonly containers: readonly { readonly args: string[] }[] } };
    };
  };
  const [{ args }] = spec.template.spec.containers;
  const [part] = args.flatMap((arg) => /^--part=(.*)$/.exec(arg)?.[1] ?? []);
  // As Kubernetes fills in the variable.
  const parts = Array.from({ length: spec.completions }, (_, pod) =>
    parsePart(part.replace("$(JOB_COMPLETION_INDEX)", `${pod}`)),
  );
  expect(parts).toEqual(parts.map((_, i) => ({ part: i, parts: spec.completions })));
});

test("every setting that the files name is one", () => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.\w+$|Dockerfile$/.test(name),
  );
  expect(files.length).toBeGreaterThan(7);
  for (const file of files) {
    const named = text(file).match(/\bSEALDEX_[A-Z_]+/g) ?? [];
    expect(names, file).toEqual(expect.arrayContaining(named));
  }
});

test("the settings of the manifests and of the compose file are accepted", () => {
  const settings = parse(text("kubernetes/settings.yaml")) as { readonly data: Record<string, string> };
  const environment = { DATABASE_PASSWORD: "p%40ss", SEALDEX_ROOT_KEY: "r".repeat(32) };
  const read = parseConfigFile(settings.data["sealdex.yaml"], "sealdex.yaml", environment, names);
  expect(readSettings({ ...environment, ...read })).toMatchObject({
    indexLocation: { location: "s3", bucket: "vectors", path: "production" },
    configLocation: { location: "postgres" },
  });
  const { services } = parse(text("compose.yaml")) as {
    readonly services: { readonly sealdex: { readonly environment: Record<string, string> } };
  };
  const filled = Object.entries(services.sealdex.environment).map(([name, value]) => {
    const replaced = value.replaceAll(
      /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
      (_, variable: string, kind: string, more: string) => (kind === "-" ? more : variable.padEnd(32, "x")),
    );
    return [name, replaced] as const;
  });
  expect(readSettings(Object.fromEntries(filled))).toMatchObject({
    processes: 1,
    indexLocation: { location: "redis", connectionString: "redis://:sealdex@redis:6379" },
  });
});

test("in the image, the locations of the manifests count", async () => {
  const ofImage = [...text("Dockerfile").matchAll(/\b(SEALDEX_\w+)=(\S+)/g)].map(([, ...pair]) => pair);
  const { data } = parse(text("kubernetes/settings.yaml")) as { readonly data: Record<string, string> };
  const path = join(await newFolder(), "sealdex.yaml");
  writeFileSync(path, data["sealdex.yaml"]);
  const secrets = { DATABASE_PASSWORD: "p%40ss", SEALDEX_ROOT_KEY: "r".repeat(32) };
  expect(loadSettings({ ...Object.fromEntries(ofImage), ...secrets }, path)).toMatchObject({
    host: "0.0.0.0",
    indexLocation: { location: "s3" },
    configLocation: { location: "postgres" },
  });
});

const confinedPod = {
  spec: {
    template: {
      spec: {
        securityContext: { runAsNonRoot: true },
        containers: [
          {
            securityContext: {
              readOnlyRootFilesystem: true,
              allowPrivilegeEscalation: false,
              capabilities: { drop: ["ALL"] },
            },
          },
        ],
      },
    },
  },
};

test("containers run as a user without rights, on a root that is read-only", () => {
  expect(text("Dockerfile")).toMatch(/^USER node$/m);
  // Any BuildKit can build it: none has to fetch a newer syntax first.
  expect(text("Dockerfile")).not.toMatch(/^# syntax=/m);
  for (const name of ["kubernetes/deployment.yaml", "kubernetes-ingest/job.yaml"]) {
    const manifests = parseAllDocuments(text(name)).map((document) => document.toJS() as object);
    expect(manifests, name).toMatchObject([confinedPod]);
  }
  const compose = parse(text("compose.yaml")) as { readonly services: object };
  const confined = { read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] };
  // Without a user, the image of Redis starts as root, which without capabilities cannot read what it wrote before.
  expect(compose.services).toMatchObject({ sealdex: confined, redis: { ...confined, user: "redis" } });
});
