/** The pages of the original beside the text, from a file that the reader chooses: the server keeps the text only. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { PDFDocumentProxy } from "pdfjs-dist";
import { Notice } from "../parts/basics";
import { texts } from "../texts";

export function PdfPanel({ name, page }: { name: string; page: number }) {
  const [pdf, setPdf] = useState<PDFDocumentProxy | null>(null);
  const [failed, setFailed] = useState(false);
  const [shown, setShown] = useState(page);
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => setShown(page), [page]);
  useEffect(() => () => void pdf?.destroy(), [pdf]);
  const choose = async (file: File | undefined) => {
    if (!file) return;
    setFailed(false);
    try {
      const { open } = await import("./pdf");
      setPdf(await open(file));
    } catch {
      setFailed(true);
    }
  };
  const last = pdf?.numPages ?? 1;
  const current = Math.min(Math.max(shown, 1), last);
  useEffect(() => {
    if (!pdf) return;
    let left = false;
    void pdf.getPage(current).then((found) => {
      const at = canvas.current;
      if (left || !at) return;
      const base = found.getViewport({ scale: 1 });
      const viewport = found.getViewport({ scale: Math.min(2, (at.parentElement!.clientWidth / base.width) * devicePixelRatio) });
      at.width = viewport.width;
      at.height = viewport.height;
      return found.render({ canvas: at, viewport }).promise;
    });
    return () => {
      left = true;
    };
  }, [pdf, current]);
  return (
    <section class="card original" aria-label={texts.document.original}>
      <p class="faint small">{texts.document.pdfWhy}</p>
      <label class="button file-button">
        {texts.document.choosePdf}
        <input class="hidden" type="file" accept="application/pdf,.pdf" aria-label={`${texts.document.choosePdf}: ${name}`} onChange={(e) => void choose(e.currentTarget.files?.[0])} />
      </label>
      {failed && <Notice kind="error">{texts.document.pdfFailed}</Notice>}
      {pdf && (
        <>
          <div class="row">
            <button type="button" class="quiet" disabled={current <= 1} onClick={() => setShown(current - 1)}>
              {texts.document.pdfPrevious}
            </button>
            <span role="status">{texts.document.pdfPage(current, last)}</span>
            <button type="button" class="quiet" disabled={current >= last} onClick={() => setShown(current + 1)}>
              {texts.document.pdfNext}
            </button>
          </div>
          <canvas ref={canvas} role="img" aria-label={texts.document.pdfPage(current, last)} />
        </>
      )}
    </section>
  );
}
