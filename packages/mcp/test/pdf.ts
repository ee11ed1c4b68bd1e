import { constants, deflateRawSync, deflateSync } from "node:zlib";

/** The smallest PDF with a text on each page. */
export function pdfOf(pages: readonly string[]): Buffer {
  return withContents(
    pages.map((text) => {
      const stream = `BT /F1 12 Tf 72 720 Td (${text}) Tj ET`;
      return `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`;
    }),
  );
}

/** A PDF of some 25 KB, with a page of 8 GiB. */
export function hostilePdf(): Buffer {
  const header = Buffer.from([0x78, 0x9c]);
  const mebibyte = deflateRawSync(Buffer.alloc(2 ** 20, "(a) Tj "), { finishFlush: constants.Z_FULL_FLUSH });
  const stream = deflateSync(Buffer.concat([header, ...Array<Buffer>(8192).fill(mebibyte)]));
  const filters = "/Filter [/FlateDecode /FlateDecode]";
  return withContents([
    `<< /Length ${stream.length} ${filters} >>\nstream\n${stream.toString("latin1")}\nendstream`,
  ]);
}

function withContents(pages: readonly string[]): Buffer {
  const kids = pages.map((_, i) => `${4 + 2 * i} 0 R`).join(" ");
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...pages.flatMap((contents, i) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * i} 0 R >>`,
      contents,
    ]),
  ];
  let body = "%PDF-1.4\n";
  const offsets = objects.map((object, i) => {
    const offset = body.length;
    body += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  return Buffer.from(
    `${body}xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`,
    "latin1",
  );
}
