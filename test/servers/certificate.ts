/** Certificates by an authority that only these tests know. Needs openssl. */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

function openssl(folder: string, ...args: string[]): void {
  execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
}

/** Writes `<name>.crt` and `<name>.key` of an authority. */
export function makeAuthority(folder: string, name = "ca"): void {
  const subject = ["-subj", `/CN=sealdex tests ${name}`, "-days", "2"];
  openssl(folder, "req", "-x509", ...newKey, "-keyout", `${name}.key`, "-out", `${name}.crt`, ...subject);
}

/** Writes `<name>.crt` and `<name>.key` for 127.0.0.1. */
export function makeCertificate(folder: string, name: string, authority = "ca"): void {
  openssl(
    folder,
    "req",
    ...newKey,
    "-keyout",
    `${name}.key`,
    "-out",
    `${name}.csr`,
    "-subj",
    "/CN=127.0.0.1",
  );
  writeFileSync(`${folder}/names`, "subjectAltName=IP:127.0.0.1\n");
  const by = [
    "-CA",
    `${authority}.crt`,
    "-CAkey",
    `${authority}.key`,
    "-CAcreateserial",
    "-extfile",
    "names",
  ];
  openssl(folder, "x509", "-req", "-in", `${name}.csr`, "-out", `${name}.crt`, ...by, "-days", "2");
}
