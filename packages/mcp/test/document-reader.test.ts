/** Documents are read in a thread, within limits of time and memory. */

import { expect, test } from "vitest";
import { DocumentReader } from "../src/files/document-reader.js";
import { hostilePdf } from "./pdf.js";

const { signal } = new AbortController();
const note = Buffer.from("# Rivers");

test("a document that takes too much memory is refused, and the next one is read", async () => {
  const reader = new DocumentReader({ ms: Infinity, bytes: 128 * 1024 ** 2 });
  expect(await reader.read("a.md", note, signal)).toBe("# Rivers");
  await expect(reader.read("a.pdf", hostilePdf(), signal)).rejects.toThrow(
    "reading it takes more than 128 MiB of memory",
  );
  expect(await reader.read("a.md", note, signal)).toBe("# Rivers");
});

test("a document that takes too long is refused", async () => {
  const reader = new DocumentReader({ ms: 200, bytes: Infinity });
  await expect(reader.read("a.pdf", hostilePdf(), signal)).rejects.toThrow(
    "reading it takes longer than 0.2 s",
  );
});

test("the reading of a document can be stopped", async () => {
  const reader = new DocumentReader({ ms: Infinity, bytes: Infinity });
  const stop = new AbortController();
  const reading = reader.read("a.pdf", hostilePdf(), stop.signal);
  stop.abort();
  await expect(reading).rejects.toThrow("aborted");
  await expect(reader.read("a.md", note, stop.signal)).rejects.toThrow("aborted");
  expect(await reader.read("a.md", note, signal)).toBe("# Rivers");
});

test("an error of a document is that of its reader, and the next one is read", async () => {
  const reader = new DocumentReader();
  await expect(reader.read("a.pdf", Buffer.from("%PDF-1.4 no document"), signal)).rejects.toThrow("PDF");
  expect(await reader.read("a.md", note, signal)).toBe("# Rivers");
});
