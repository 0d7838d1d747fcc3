import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { texts } from "../texts";
import { Icon } from "./icons";

/** A button that copies, and says whether the browser let it. */
export function Copy({ text, children }: { text: () => string; children: ComponentChildren }) {
  const [told, setTold] = useState("");
  const copy = () => {
    navigator.clipboard.writeText(text()).then(
      () => setTold(texts.common.copied),
      () => setTold(texts.common.copyFailed),
    );
    setTimeout(() => setTold(""), 2500);
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
