/** Text cut to what a node has room for. */

export type Ink = (text: string) => number;

const LINES = 2;

/** Return how wide text is in a font, in pixels. */
export function inkOf(font: string): Ink {
  const context = document.createElement("canvas").getContext("2d")!;
  context.font = font;
  return (text) => context.measureText(text).width;
}

/** Return the text in at most two lines of this width; what is left out is an ellipsis. */
export function fitted(text: string, width: number, ink: Ink): string {
  const lines: string[] = [];
  let rest = text.replace(/\s+/g, " ").trim();
  while (rest && lines.length < LINES) {
    const last = lines.length === LINES - 1;
    let line = longest(rest, last ? width - ink("…") : width, ink);
    if (ink(rest) <= width) line = rest;
    // a line ends with a word, if it is not longer than the line
    else if (line.includes(" ") && rest[line.length] !== " ") line = line.slice(0, line.lastIndexOf(" "));
    // a longer one is parted where it has a joint
    else if (rest[line.length] !== " ") line = /^.{3,}[-._/:]|^.{3,}\p{Ll}(?=\p{Lu})/u.exec(line)?.[0] ?? line;
    rest = rest.slice(line.length).trim();
    lines.push(last && rest ? `${line.trimEnd()}…` : line.trim());
  }
  return lines.join("\n");
}

function longest(text: string, width: number, ink: Ink): string {
  let [least, most] = [1, text.length];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (ink(text.slice(0, middle)) <= width) least = middle;
    else most = middle - 1;
  }
  return text.slice(0, least);
}
