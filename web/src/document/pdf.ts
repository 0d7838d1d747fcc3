/** pdf.js, fetched when the first PDF is opened. */
import { getDocument, GlobalWorkerOptions, type PDFDocumentProxy } from "pdfjs-dist";
import worker from "pdfjs-dist/build/pdf.worker.min.mjs?url";

GlobalWorkerOptions.workerSrc = worker;

export async function open(file: File): Promise<PDFDocumentProxy> {
  // fonts as outlines: the content security policy allows no style sheets made on the way
  return getDocument({ data: await file.arrayBuffer(), disableFontFace: true, useWasm: false }).promise;
}
