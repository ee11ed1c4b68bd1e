/**
 * Faults of networks and lesser services, between the drivers for object services and real servers: answers
 * lost, cut, refused or garbled, conditions ignored, stale reads. Each is done to both drivers.
 */

import { PutObjectCommand, HeadObjectCommand } from "@aws-sdk/client-s3";
import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SealdexError } from "../../src/errors.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { checkBucketLocation } from "../../src/storage/bucket-location.js";
import { createGcsStore } from "../../src/storage/gcs.js";
import type { GcsLocation, S3ServiceLocation } from "../../src/storage/storage-location.js";
import { openLocation } from "../../src/storage/location.js";
import { isTransientServiceError } from "../../src/storage/object-store.js";
import { probedBeforeWriting } from "../../src/storage/probe.js";
import { withRetries } from "../../src/storage/retrying.js";
import { createS3Store } from "../../src/storage/s3.js";
import { startGcsEmulator } from "../gcs-emulator/emulator.js";
import { s3UnderTest } from "../servers/bucket.js";
import { type Behaviour, passOn, type Proxy, type ProxyAnswer, startProxy } from "../servers/proxy.js";
import { beginning } from "../ranges.js";
import { failure } from "../outcome.js";

type ObjectLocation = (S3ServiceLocation | GcsLocation) & { accessKey: string; secretKey: string };

interface Server {
  readonly location: ObjectLocation;
  /** The headers that a write's condition and its token are in. */
  readonly condition: string;
  readonly token: string;
  stop(): Promise<void>;
}

const s3 = await s3UnderTest();
afterAll(() => s3?.stop());

const servers: Record<string, (() => Promise<Server>) | null> = {
  s3:
    s3 &&
    (async () => ({
      location: (await s3.newBucket("network")) as ObjectLocation,
      condition: "if-none-match",
      token: "x-amz-meta-sealdex-create",
      stop: async () => {},
    })),
  gcs: async () => {
    const [accessKey, secretKey] = ["GOOG1ENETWORK", randomBytes(20).toString("base64")];
    const keys = new Map([[accessKey, secretKey]]);
    const { endpoint, stop } = await startGcsEmulator({ keys, buckets: new Map([["network", new Map()]]) });
    return {
      location: { location: "gcs", bucket: "network", endpoint, accessKey, secretKey },
      condition: "x-goog-if-generation-match",
      token: "x-goog-meta-sealdex-create",
      stop,
    };
  },
};

/** A location's driver, with the probe, and without the retries for as long as an operation may take that are above it. */
function openDriver(location: ObjectLocation): BlobStore {
  const checked = checkBucketLocation(location);
  const credentials = { accessKey: location.accessKey, secretKey: location.secretKey };
  const driver =
    location.location === "s3" ? createS3Store(checked) : createGcsStore({ ...checked, credentials });
  return probedBeforeWriting(driver, `${location.location} storage`);
}

const one = Uint8Array.of(1);
const xml = (code: string, rest = "") => `<?xml version="1.0"?><Error><Code>${code}</Code>${rest}</Error>`;
const failing = (status: number, code: string): ProxyAnswer => ({
  status,
  headers: { "content-type": "application/xml" },
  body: xml(code),
});

/** Does something else to the first requests of a method, and passes on the others. */
function atFirst(count: number, method: string, behaviour: Behaviour): Behaviour {
  let left = count;
  return (request) => (request.method === method && left-- > 0 ? behaviour(request) : request.forward());
}

const loseAnswer: Behaviour = async (request) => {
  await request.forward();
  return "cut";
};

describe.each(Object.keys(servers))("%s between networks", (kind) => {
  const start = servers[kind];
  describe.skipIf(start === null)("with a server", () => {
    let server: Server;
    let proxy: Proxy;
    let store: BlobStore;
    let made = 0;

    beforeAll(async () => {
      server = await (start as () => Promise<Server>)();
      proxy = await startProxy(server.location.endpoint as string);
    });
    afterAll(async () => {
      await proxy.stop();
      await server.stop();
    });
    const open = (fields: object = {}) =>
      openDriver({ ...server.location, endpoint: proxy.endpoint, path: `p${made++}`, ...fields });
    beforeEach(async () => {
      proxy.behaviour = passOn;
      store = open();
      // The probe has sent its requests by now.
      await store.create("first", one);
      proxy.methods.length = 0;
      return () => store.close();
    });

    test("a create whose answer was lost knows that it won", async () => {
      proxy.behaviour = atFirst(1, "PUT", loseAnswer);
      expect(await store.create("a", one)).toBe(true);
      expect(proxy.methods).toEqual(["PUT", "HEAD"]);
      expect(await store.create("a", one)).toBe(false);
    });

    test("a create whose answer was lost, and that is asked again when another's lies there, knows that it lost", async () => {
      const [mine, theirs] = [open({ path: "shared" }), open({ path: "shared" })];
      await mine.create("first", one);
      proxy.behaviour = atFirst(1, "PUT", async () => {
        proxy.behaviour = passOn;
        // The same bytes: contents do not tell who wrote them.
        expect(await theirs.create("a", one)).toBe(true);
        return "cut";
      });
      expect(await mine.create("a", one)).toBe(false);
      await Promise.all([mine.close(), theirs.close()]);
    });

    test("a create that never arrived is sent again", async () => {
      proxy.behaviour = atFirst(2, "PUT", async () => "cut");
      expect(await store.create("a", one)).toBe(true);
      expect(proxy.methods).toEqual(["PUT", "HEAD", "PUT", "HEAD", "PUT"]);
      expect(await store.read("a", beginning)).toEqual(one);
    });

    test("a create that something on the way sends twice is still known to have won", async () => {
      proxy.behaviour = atFirst(1, "PUT", async (request) => {
        await request.forward();
        return request.forward();
      });
      expect(await store.create("a", one)).toBe(true);
      expect(proxy.methods).toEqual(["PUT", "HEAD"]);
    });

    test.each([
      [409, kind === "s3" ? "ConditionalRequestConflict" : "OperationAborted"],
      [429, "SlowDown"],
      [500, "InternalError"],
      [503, "SlowDown"],
    ])("a create answered with %i %s is decided by the stored object", async (status, code) => {
      proxy.behaviour = atFirst(1, "PUT", async () => failing(status, code));
      expect(await store.create("a", one)).toBe(true);
      proxy.behaviour = atFirst(1, "PUT", async (request) => {
        await request.forward();
        return failing(status, code);
      });
      expect(await store.create("b", one)).toBe(true);
      proxy.behaviour = atFirst(1, "PUT", async () => failing(status, code));
      expect(await store.create("b", one)).toBe(false);
    });

    test("a create that cannot be decided rejects", async () => {
      proxy.behaviour = async (request) => (request.method === "PUT" ? loseAnswer(request) : "cut");
      expect(await failure(store.create("a", one))).toMatchObject({
        code: "storage_unavailable",
        message: `${kind} storage: create a failed with ECONNRESET`,
      });
      proxy.behaviour = passOn;
      expect(await store.read("a", beginning)).toEqual(one);
    });

    test("errors distinguish transient failures from those that an operator has to fix", async () => {
      proxy.behaviour = async () => failing(503, "SlowDown");
      expect(isTransientServiceError(await failure(store.read("a", beginning)))).toBe(true);
      proxy.behaviour = async () => "cut";
      expect(isTransientServiceError(await failure(store.delete(["a"])))).toBe(true);
      proxy.behaviour = async () => failing(403, "AccessDenied");
      proxy.methods.length = 0;
      expect(isTransientServiceError(await failure(store.read("a", beginning)))).toBe(false);
      expect(proxy.methods).toEqual(["GET"]);
      expect(isTransientServiceError(new SealdexError("storage_unavailable", "another's"))).toBe(false);
    });

    test("a create that fails for good is sent four times", async () => {
      proxy.behaviour = async (request) =>
        request.method === "PUT" ? failing(503, "SlowDown") : request.forward();
      expect((await failure(store.create("a", one))).message).toContain("SlowDown (status 503)");
      expect(proxy.methods.filter((method) => method === "PUT")).toHaveLength(4);
    });

    test("reads and lists outlast a service that fails now and then", async () => {
      await store.create("a", one);
      const location = withRetries(store, { isTransient: isTransientServiceError });
      proxy.behaviour = atFirst(2, "GET", async () => failing(503, "SlowDown"));
      expect(await location.read("a", beginning)).toEqual(one);
      proxy.behaviour = atFirst(2, "GET", async () => "cut");
      expect(await location.list("")).toEqual(["a", "first"]);
    });

    test("a bucket that refuses half of all requests can be probed, written and read", async () => {
      const location = { ...server.location, endpoint: proxy.endpoint, path: `p${made++}` };
      const throttled = openLocation(location);
      const asked = new Map<string, number>();
      proxy.behaviour = async (request) => {
        const key = `${request.method} ${request.url}`;
        const before = asked.get(key) ?? 0;
        asked.set(key, before + 1);
        return before % 2 === 0 ? failing(503, "SlowDown") : request.forward();
      };
      expect(await throttled.create("a", one)).toBe(true);
      expect(await throttled.create("a", Uint8Array.of(2))).toBe(false);
      expect(await throttled.read("a", beginning)).toEqual(one);
      expect(await throttled.list("")).toEqual(["a"]);
      await throttled.close();
    });

    test("half a body is never taken for a whole one", async () => {
      const bytes = randomBytes(300_000);
      await store.create("a", bytes);
      const halve: Behaviour = async (request) => ({ halve: await request.forward() });
      proxy.behaviour = atFirst(1, "GET", halve);
      const location = withRetries(store, { isTransient: isTransientServiceError });
      expect(
        Buffer.compare((await location.read("a", { offset: 0, length: 400_000 })) as Uint8Array, bytes),
      ).toBe(0);
      proxy.behaviour = (request) => (request.method === "GET" ? halve(request) : request.forward());
      for (const range of [
        { offset: 0, length: 400_000 },
        { offset: 10, length: 200_000 },
      ]) {
        expect((await failure(store.read("a", range))).code).toBe("storage_unavailable");
      }
    });

    test("a server that ignores ranges is read all the same, one that sends another range is not", async () => {
      await store.create("a", Uint8Array.of(1, 2, 3, 4, 5));
      proxy.behaviour = async (request) => {
        const { body } = await request.forward();
        return { status: 200, body: request.headers.range ? Buffer.of(1, 2, 3, 4, 5) : body };
      };
      expect(await store.read("a", { offset: 1, length: 2 })).toEqual(Uint8Array.of(2, 3));
      proxy.behaviour = async () => ({
        status: 206,
        headers: { "content-range": "bytes 2-3/5" },
        body: Buffer.of(3, 4),
      });
      expect((await failure(store.read("a", { offset: 1, length: 2 }))).message).toContain("another part");
    });

    test("an absent bucket, or a 404 that is not the service's, is not an absent blob", async () => {
      const nowhere = open({ bucket: "no-such-bucket-here" });
      const operations = [
        () => nowhere.read("a", beginning),
        () => nowhere.list(""),
        () => nowhere.create("a", one),
        () => nowhere.delete(["a"]),
      ];
      for (const operation of operations) {
        expect((await failure(operation())).message).toMatch(/NoSuchBucket \(status 404; no such bucket\)$/);
      }
      await nowhere.close();
      proxy.behaviour = async () => ({ status: 404, body: "<html>default backend</html>" });
      expect((await failure(store.read("a", beginning))).code).toBe("storage_unavailable");
    });

    test("deletes are never sent twice, and stop where one fails", async () => {
      for (const key of ["a", "b", "c"]) await store.create(key, one);
      let deletes = 0;
      proxy.behaviour = async (request) =>
        request.method === "DELETE" && ++deletes === 2 ? loseAnswer(request) : request.forward();
      await failure(store.delete(["a", "b", "c"]));
      expect(deletes).toBe(2);
      proxy.behaviour = passOn;
      expect(await store.list("")).toEqual(["c", "first"]);
    });

    test("foreign objects are not listed, however many there are", async () => {
      const here = open({ path: undefined });
      await here.create("m/a", one);
      const names = ["m/", "m/A.txt", "m/a.b", ...Array.from({ length: 30 }, (_, i) => `m/_${i}`)];
      const contents = (list: string[]) =>
        list.map((name) => `<Contents><Key>${name}</Key></Contents>`).join("");
      const all = [...names, "m/a", "m/z"].sort();
      proxy.behaviour = async ({ url }) => {
        const after = new URL(url, proxy.endpoint).searchParams.get("start-after") ?? "";
        const page = all.filter((name) => name > after).slice(0, 7);
        const isTruncated = page.length === 7;
        return {
          status: 200,
          headers: { "content-type": "application/xml" },
          body: `<ListBucketResult>${contents(page)}<IsTruncated>${isTruncated}</IsTruncated></ListBucketResult>`,
        };
      };
      expect(await here.list("m/")).toEqual(["m/a", "m/z"]);
      expect(await here.list("m/", { limit: 1 })).toEqual(["m/a"]);
      await here.close();
    });

    test.each([
      ["out of order", "<Contents><Key>pX/b</Key></Contents><Contents><Key>pX/a</Key></Contents>"],
      ["twice the same", "<Contents><Key>pX/a</Key></Contents><Contents><Key>pX/a</Key></Contents>"],
      ["of something else", "<Contents><Key>elsewhere</Key></Contents>"],
      ["without names", "<Contents></Contents>"],
      ["without an end", "<IsTruncated>true</IsTruncated>"],
    ])("a list %s is refused", async (_, entries) => {
      const here = open({ path: "pX" });
      const body = `<ListBucketResult>${entries}</ListBucketResult>`;
      proxy.behaviour = async () => ({ status: 200, headers: { "content-type": "application/xml" }, body });
      expect((await failure(here.list(""))).message).toMatch(
        /failed with a list (out of order|without an end)$/,
      );
      await here.close();
    });

    test("an aborted operation ends at once, with the signal's reason, and so does its request", async () => {
      await store.create("a", randomBytes(200_000));
      const reason = new Error("no longer wanted");
      const held: (() => void)[] = [];
      const hold = () => new Promise<void>((resolve) => held.push(resolve));
      const operations: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
        read: (signal) => store.read("a", beginning, { signal }),
        "read a range": (signal) => store.read("a", { offset: 5, length: 5 }, { signal }),
        create: (signal) => store.create("b", one, { signal }),
        list: (signal) => store.list("", { signal }),
        delete: (signal) => store.delete(["a"], { signal }),
      };
      for (const [name, operation] of Object.entries(operations)) {
        await expect(operation(AbortSignal.abort(reason)), name).rejects.toBe(reason);
        const controller = new AbortController();
        let came: () => void;
        const arrival = new Promise<void>((resolve) => (came = resolve));
        proxy.behaviour = async () => {
          came();
          await hold();
          return "cut";
        };
        const rejection = expect(operation(controller.signal), name).rejects.toBe(reason);
        await arrival;
        controller.abort(reason);
        await rejection;
      }
      for (const release of held) release();
      proxy.behaviour = passOn;
      expect(await store.list("")).toEqual(["a", "first"]);
    });

    test("a body that is aborted in the middle is left there", async () => {
      await store.create("a", randomBytes(200_000));
      const controller = new AbortController();
      const reason = new Error("no longer wanted");
      proxy.behaviour = async (request) => ({
        halve: await request.forward(),
        meanwhile: () => controller.abort(reason),
      });
      await expect(store.read("a", beginning, { signal: controller.signal })).rejects.toBe(reason);
    });

    test("connections are used again, and closed with the store", async () => {
      await proxy.stop();
      proxy = await startProxy(server.location.endpoint as string);
      const here = open();
      await Promise.all(Array.from({ length: 10 }, (_, i) => here.create(`k${i}`, one)));
      const opened = await proxy.connections();
      for (let i = 0; i < 30; i++) await here.read(`k${i % 10}`, beginning);
      expect(await proxy.connections()).toBe(opened);
      expect(opened).toBeGreaterThan(0);
      await here.close();
      while ((await proxy.connections()) > 0) await new Promise(setImmediate);
    });

    test("no failure shows a credential or a signature, whatever the service answers", async () => {
      const { accessKey, secretKey } = server.location;
      const echo: Behaviour = async ({ headers }) => ({
        status: 403,
        headers: { "content-type": "application/xml" },
        // Like services, which repeat the signed text.
        body: xml(
          "SignatureDoesNotMatch",
          `<Message>key ${accessKey} ${headers.authorization}</Message><AWSAccessKeyId>${accessKey}</AWSAccessKeyId><StringToSign>${headers.authorization}</StringToSign>`,
        ),
      });
      const answers: Record<string, Behaviour> = {
        "a refused signature": echo,
        "a code that is not one": async () => failing(400, `key ${accessKey}`),
        "a server error": async () => failing(500, "InternalError"),
        "no XML": async () => ({ status: 500, body: `<html>${accessKey}` }),
        "malformed XML": async () => ({
          status: 200,
          headers: { "content-type": "application/xml" },
          body: `<a>${accessKey}`,
        }),
        "no answer": async () => "cut",
        "half an answer": async () => ({ halve: { status: 200, body: "x".repeat(1000) } }),
        redirect: async () => ({ status: 307, headers: { location: `http://${accessKey}.example/` } }),
      };
      const wrongSecret = open({ secretKey: "saffron" });
      const wrongKey = open({ accessKey: "marjoram" });
      const closed = open({ endpoint: "http://127.0.0.1:1" });
      const errors: [string, SealdexError][] = [];
      const tryAll = async (what: string, subject: BlobStore) => {
        const operations = [
          () => subject.read("a", { offset: 0, length: 1 }),
          () => subject.list("a"),
          () => subject.create("a", one),
          () => subject.delete(["a"]),
        ];
        for (const outcome of await Promise.allSettled(operations.map((operation) => operation()))) {
          if (outcome.status === "rejected") errors.push([what, outcome.reason as SealdexError]);
        }
        errors.push([what, new SealdexError("internal", inspect(subject, { depth: 20, showHidden: true }))]);
      };
      await tryAll("a wrong secret", wrongSecret);
      await tryAll("a wrong key", wrongKey);
      await tryAll("a refused connection", closed);
      for (const [what, behaviour] of Object.entries(answers)) {
        proxy.behaviour = behaviour;
        await tryAll(what, store);
      }
      expect(errors.filter(([, { code }]) => code === "storage_unavailable").length).toBeGreaterThan(35);
      for (const [what, error] of errors) {
        const shown = `${inspect(error, { depth: 20, showHidden: true })}${error.stack}${JSON.stringify(error)}`;
        for (const secret of [accessKey, secretKey, "saffron", "marjoram", "Credential=", "Signature="]) {
          expect(shown, what).not.toContain(secret);
        }
      }
      await Promise.all([wrongSecret.close(), wrongKey.close(), closed.close()]);
    }, 120_000);

    /** The answer to a write that ignores its condition, or looks first and then writes. */
    const lesser: Record<string, Behaviour> = {
      "answers as if there were nothing": async (request) => {
        const found = request.method === "GET" && !request.url.includes("list-type") ? 404 : 0;
        return found === 404 ? failing(404, "NoSuchKey") : request.forward();
      },
      "answers from a copy that lags": (() => {
        const absent = new Set<string>();
        const lag: Behaviour = async (request) => {
          if (request.method === "GET" && absent.delete(request.url)) return failing(404, "NoSuchKey");
          const answer = await request.forward();
          if (request.method === "GET" && answer.status === 404) absent.add(request.url);
          return answer;
        };
        return lag;
      })(),
      "lists the objects of a while ago": async (request) => {
        if (request.method !== "GET" || !request.url.includes("list-type")) return request.forward();
        const body = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
        return { status: 200, headers: { "content-type": "application/xml" }, body };
      },
      "keeps deleted objects": async (request) =>
        request.method === "DELETE" ? { status: 204 } : request.forward(),
    };
    test.each(Object.keys(lesser))(
      "a service that %s is refused before anything is written",
      async (name) => {
        const here = open({ path: `lesser${made++}` });
        proxy.behaviour = lesser[name];
        const refusal = await failure(here.create("a", one));
        expect(refusal.code).toBe("not_supported");
        expect(refusal.message).toMatch(
          new RegExp(`^${kind} storage: this service cannot hold an index safely`),
        );
        proxy.methods.length = 0;
        expect(await failure(here.create("b", one))).toBe(refusal);
        expect(proxy.methods).toEqual([]);
        proxy.behaviour = passOn;
        expect((await here.list("")).filter((key) => !key.startsWith("probe/"))).toEqual([]);
        await here.close();
      },
    );

    test("the probe leaves nothing behind, is done once, and is not needed for reading", async () => {
      const here = open({ path: "probed" });
      expect(await here.read("a", beginning)).toBeNull();
      expect(await here.list("")).toEqual([]);
      expect(proxy.methods).toEqual(["GET", "GET"]);
      proxy.methods.length = 0;
      await Promise.all([here.create("a", one), here.create("b", one)]);
      const asked = proxy.methods.length;
      expect(asked).toBeLessThanOrEqual(2 + 26);
      await here.create("c", one);
      expect(proxy.methods.length).toBe(asked + 1);
      expect(await here.list("")).toEqual(["a", "b", "c"]);
      await here.close();
    });

    test("a probe that was interrupted is done again", async () => {
      const here = open();
      proxy.behaviour = async () => "cut";
      expect((await failure(here.create("a", one))).code).toBe("storage_unavailable");
      proxy.behaviour = passOn;
      expect(await here.create("a", one)).toBe(true);
      await here.close();
    });
  });
});

describe("services that let several creates win are refused", () => {
  test("Google's dialect, the condition ignored", async () => {
    const [accessKey, secretKey] = ["GOOG1E", "secret"];
    const objects = new Map();
    const { endpoint, stop } = await startGcsEmulator({
      keys: new Map([[accessKey, secretKey]]),
      buckets: new Map([["careless", objects]]),
      isCareless: true,
    });
    const store = openDriver({ location: "gcs", bucket: "careless", endpoint, accessKey, secretKey });
    const refusal = await failure(store.create("a", one));
    expect(refusal.code).toBe("not_supported");
    expect(refusal.message).toContain("of 6 concurrent creates of one object 6 won");
    expect(objects.size).toBe(0);
    await store.close();
    await stop();
  });

  describe.skipIf(s3 === null)("S3's dialect", () => {
    let proxy: Proxy;
    let location: ObjectLocation;
    beforeAll(async () => {
      location = (await s3!.newBucket("lesser")) as ObjectLocation;
      proxy = await startProxy(location.endpoint as string);
    });
    afterAll(() => proxy.stop());

    /** A gateway that writes with a client of its own, and without the condition. */
    const write = async ({ url, headers, body }: Parameters<Behaviour>[0]): Promise<ProxyAnswer> => {
      const [, Bucket, ...rest] = new URL(url, proxy.endpoint).pathname.split("/");
      const token = String(headers["x-amz-meta-sealdex-create"]);
      const Metadata = { "sealdex-create": token };
      await s3!.client.send(new PutObjectCommand({ Bucket, Key: rest.join("/"), Body: body, Metadata }));
      return { status: 200 };
    };
    let looked = 0;
    let goOn = () => {};
    const gateways: Record<string, Behaviour> = {
      "ignores If-None-Match": (request) => (request.method === "PUT" ? write(request) : request.forward()),
      "looks first and writes then": async (request) => {
        if (request.method !== "PUT") return request.forward();
        const [, Bucket, ...rest] = new URL(request.url, proxy.endpoint).pathname.split("/");
        const head = new HeadObjectCommand({ Bucket, Key: rest.join("/") });
        const isThere = await s3!.client.send(head).then(
          () => true,
          () => false,
        );
        // Another looks before this one writes: on a busy machine creates would otherwise come one after the other.
        if (++looked % 2 === 1) await new Promise<void>((resolve) => (goOn = resolve));
        else goOn();
        return isThere ? failing(412, "PreconditionFailed") : write(request);
      },
      "has not implemented If-None-Match": async (request) =>
        request.method === "PUT" ? failing(501, "NotImplemented") : request.forward(),
    };
    test.each(Object.keys(gateways))("a service that %s", async (name) => {
      proxy.behaviour = gateways[name];
      const store = openDriver({ ...location, endpoint: proxy.endpoint, path: `g${name.length}` });
      const refusal = await failure(store.create("a", one));
      expect(refusal.code).toBe("not_supported");
      expect(refusal.message).toMatch(/[2-6] won, and exactly one must|does not implement it/);
      expect(await store.list("")).toEqual([]);
      await store.close();
    });
  });
});
