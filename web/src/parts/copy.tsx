import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { texts } from "../texts";
import { Icon } from "./icons";

/** A button that copies, also what is still to be fetched, and says whether the browser let it. */
export function Copy({ text, children }: { text: () => string | Promise<string>; children: ComponentChildren }) {
  const [told, setTold] = useState("");
  const tell = (said: string) => {
    setTold(said);
    setTimeout(() => setTold(""), 2500);
  };
  const copy = () => {
    write(text()).then(
      () => tell(texts.common.copied),
      () => tell(texts.common.copyFailed),
    );
  };
  return (
    <button type="button" class="quiet" onClick={copy}>
      <Icon name="copy" />
      {children}
      <span role="status" class={told ? "told" : "hidden"}>
        {told}
      </span>
    </button>
  );
}

// what is fetched is promised at once: Safari lets a page copy only while it handles the click
async function write(text: string | Promise<string>): Promise<void> {
  if (typeof text === "string") return navigator.clipboard.writeText(text);
  const blob = text.then((told) => new Blob([told], { type: "text/plain" }));
  return navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}
