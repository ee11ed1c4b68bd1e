/** Signatures against an answer known from elsewhere, and the emulator's verification against every kind of tampering. */

import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { canonicalQuery, signed, type UnsignedRequest } from "../../src/storage/goog4.js";
import { type GcsEmulator, startGcsEmulator } from "../gcs-emulator/emulator.js";

test("signs as another implementation in use with the service does", () => {
  const headers = signed(
    {
      method: "GET",
      path: "/foo/bar",
      query: {},
      headers: { host: "example.com" },
      payloadHash: "UNSIGNED-PAYLOAD",
    },
    { accessKey: "XXXXX", secretKey: "YYYYY", region: "auto" },
    new Date(1_732_156_539_000),
  );
  expect(headers["x-goog-date"]).toBe("20241121T023539Z");
  expect(headers.authorization).toBe(
    "GOOG4-HMAC-SHA256 Credential=XXXXX/20241121/auto/storage/goog4_request, " +
      "SignedHeaders=host;x-goog-content-sha256;x-goog-date, " +
      "Signature=528346f587a0b46433f92d583f3148b88a5117bf26131f328553789feb433028",
  );
});

test("queries are sorted and encoded, including characters that encodeURIComponent keeps", () => {
  expect(canonicalQuery({})).toBe("");
  expect(canonicalQuery({ prefix: "a/b c*'()!", "list-type": "2", é: "~-._" })).toBe(
    "list-type=2&prefix=a%2Fb%20c%2A%27%28%29%21&%C3%A9=~-._",
  );
});

const key = { accessKey: "GOOG1E", secretKey: randomBytes(30).toString("base64"), region: "auto" };
let emulator: GcsEmulator;
beforeAll(async () => {
  const keys = new Map([[key.accessKey, key.secretKey]]);
  emulator = await startGcsEmulator({ keys, buckets: new Map([["b", new Map()]]) });
});
afterAll(() => emulator.stop());

const body = Buffer.from("contents");
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** Signs a write, lets the test change the request, and returns the status and the code of the answer. */
async function answerTo(
  change: (sent: Sent) => void = () => {},
  { now = new Date(), by = key, ...rest }: Partial<UnsignedRequest> & { now?: Date; by?: typeof key } = {},
): Promise<string> {
  const unsigned: UnsignedRequest = {
    method: "PUT",
    path: "/b/name",
    query: {},
    headers: { host: new URL(emulator.endpoint).host, "x-goog-meta-a": "1", "content-type": "text/plain" },
    payloadHash: sha256(body),
    ...rest,
  };
  const sent: Sent = { method: "PUT", path: "/b/name", headers: signed(unsigned, by, now), body };
  change(sent);
  return new Promise((resolve, reject) => {
    const { method, path, headers } = sent;
    const outgoing = request(emulator.endpoint, { method, path, headers }, (incoming) => {
      let text = "";
      incoming.on("data", (part: Buffer) => (text += part.toString()));
      incoming.on("end", () =>
        resolve(`${incoming.statusCode} ${/<Code>(\w+)</.exec(text)?.[1] ?? ""}`.trim()),
      );
    });
    outgoing.on("error", reject);
    outgoing.end(sent.body);
  });
}

test("the emulator accepts signed requests and refuses those changed since", async () => {
  expect(await answerTo()).toBe("200");
  const changes: Record<string, (sent: Sent) => void> = {
    method: (sent) => (sent.method = "POST"),
    path: (sent) => (sent.path = "/b/other"),
    query: (sent) => (sent.path = "/b/name?x=1"),
    "a signed header": (sent) => (sent.headers["content-type"] = "text/html"),
    "a signed header of the service": (sent) => (sent.headers["x-goog-meta-a"] = "2"),
    "a signed header that is gone": (sent) => delete sent.headers["x-goog-meta-a"],
    date: (sent) =>
      (sent.headers["x-goog-date"] = new Date().toISOString().slice(0, 10).replace(/-/g, "") + "T000000Z"),
    signature: (sent) => {
      const last = sent.headers.authorization.at(-1) === "0" ? "1" : "0";
      sent.headers.authorization = sent.headers.authorization.slice(0, -1) + last;
    },
    region: (sent) => (sent.headers.authorization = sent.headers.authorization.replace("/auto/", "/eu/")),
  };
  const answers = await Promise.all(
    Object.entries(changes).map(async ([what, change]) => [what, await answerTo(change)]),
  );
  const skewed = "403 RequestTimeTooSkewed";
  for (const [what, answer] of answers) {
    const expected = what === "date" && answer === skewed ? skewed : "403 SignatureDoesNotMatch";
    expect(answer, what).toBe(expected);
  }
  expect(await answerTo((sent) => (sent.body = Buffer.from("CONTENTS")))).toBe(
    "400 XAmzContentSHA256Mismatch",
  );
  expect(await answerTo((sent) => (sent.headers["x-goog-acl"] = "public-read"))).toBe("403 AccessDenied");
  expect(await answerTo((sent) => delete sent.headers.authorization)).toBe("401 AuthenticationRequired");
  expect(await answerTo(undefined, { now: new Date(Date.now() - 3_600_000) })).toBe(skewed);
  expect(await answerTo(undefined, { by: { ...key, secretKey: "x" } })).toBe("403 SignatureDoesNotMatch");
  expect(await answerTo(undefined, { by: { ...key, accessKey: "GOOG2" } })).toBe("403 InvalidAccessKeyId");
});
