/** Where the focus goes with each move to another view: back on the link that one left by, else to the new heading. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Address } from "./router";

interface Left {
  href: string;
  top: number;
}

const WAIT = 5_000; // ms for what is fetched to appear
const left = new Map<string, Left>();

// the link has the focus still
addEventListener(
  "hashchange",
  (e) => {
    const main = document.querySelector("main");
    const link = document.activeElement?.closest("main a");
    if (main && link) left.set(new URL(e.oldURL).hash, { href: link.getAttribute("href")!, top: main.scrollTop });
  },
  { capture: true },
);

/** Move the focus of `main` to what an address shows, once it is there. */
export function useArrival(main: { current: HTMLElement | null }, at: Address): void {
  const place = `${at.view} ${at.id}`;
  const before = useRef({ place, question: at.query.get("q") });
  useLayoutEffect(() => {
    const last = before.current;
    before.current = { place, question: at.query.get("q") };
    const moved = last.place !== place;
    // within a view only where what had the focus is gone
    const lost = last.question !== before.current.question && document.activeElement === document.body;
    return moved || lost ? arrive(main.current!, moved) : undefined;
  }, [place, at.query.get("q")]);
}

function arrive(main: HTMLElement, moved: boolean): () => void {
  const back = left.get(location.hash);
  if (moved) main.scrollTop = 0;
  if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
  const over = new AbortController();
  const settle = () => {
    const at = document.activeElement;
    const waiting = at === main || at === document.body || at?.tagName === "H1";
    const link = back && [...main.querySelectorAll("a")].find((a) => a.getAttribute("href") === back.href);
    const heading = main.querySelector("h1");
    if (link) {
      main.scrollTop = back.top;
      link.focus({ preventScroll: true });
      link.scrollIntoView({ block: "nearest" });
    } else if (heading && waiting && at !== heading) {
      heading.tabIndex = -1;
      heading.focus({ preventScroll: true });
    }
    if (link || (heading && !back) || !waiting) over.abort();
  };
  const changes = new MutationObserver(settle);
  over.signal.addEventListener("abort", () => changes.disconnect());
  for (const name of ["keydown", "pointerdown"]) addEventListener(name, () => over.abort(), { signal: over.signal, capture: true });
  changes.observe(main, { childList: true, subtree: true });
  setTimeout(() => over.abort(), WAIT);
  settle();
  return () => over.abort();
}
