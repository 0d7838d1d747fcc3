/** A list of rows of one height of which only those in sight are in the page: 10,000 documents cost as much as 30. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props<T> {
  items: readonly T[];
  rowHeight: number;
  label: string;
  row: (item: T, index: number) => ComponentChildren;
  keyOf: (item: T, index: number) => string | number;
  /** Called when the end comes near: more may be asked for. */
  onEnd?: (() => void) | undefined;
  /** The row to bring into sight. */
  show?: number | undefined;
  total?: number | undefined;
  /** Stands above the rows, and stays in sight. */
  head?: ComponentChildren;
}

const SPARE = 8;

export function VirtualList<T>({ items, rowHeight, label, row, keyOf, onEnd, show, total, head }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ first: 0, last: 40 });

  useLayoutEffect(() => {
    const at = box.current!;
    const measure = () => {
      const first = Math.max(0, Math.floor(at.scrollTop / rowHeight) - SPARE);
      const last = Math.ceil((at.scrollTop + at.clientHeight) / rowHeight) + SPARE;
      setSeen((before) => (before.first === first && before.last === last ? before : { first, last }));
    };
    measure();
    at.addEventListener("scroll", measure, { passive: true });
    const sizes = new ResizeObserver(measure);
    sizes.observe(at);
    return () => {
      at.removeEventListener("scroll", measure);
      sizes.disconnect();
    };
  }, [rowHeight]);

  useEffect(() => {
    if (seen.last >= items.length - SPARE) onEnd?.();
  }, [seen.last, items.length, onEnd]);

  useLayoutEffect(() => {
    const at = box.current!;
    if (show === undefined || show < 0) return;
    const top = show * rowHeight;
    if (top < at.scrollTop || top + rowHeight > at.scrollTop + at.clientHeight) at.scrollTop = top - at.clientHeight / 3;
  }, [show, rowHeight]);

  const shown = items.slice(seen.first, seen.last);
  return (
    <div class="virtual" ref={box} tabIndex={0} role="region" aria-label={label}>
      {head}
      <ul style={{ height: `${items.length * rowHeight}px` }}>
        {shown.map((item, i) => {
          const index = seen.first + i;
          return (
            <li
              key={keyOf(item, index)}
              style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
              aria-setsize={total ?? items.length}
              aria-posinset={index + 1}
            >
              {row(item, index)}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
