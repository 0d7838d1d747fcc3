/** An answer to take along: question, how sure it is, answer, and what its labels stand for. */
import { fileOf } from "../parts/basics";
import { texts } from "../texts";
import { standing, type Answer, type Source } from "./answer";
import { filesOf, whereOf, withoutOpening } from "./pane";
import { quotes, withLines, type Places } from "./places";

export function asMarkdown(question: string, answer: Answer, places: Places): string {
  const cited = new Set(answer.done?.references.map((r) => r.label));
  const sources = answer.sources.filter((s) => cited.has(s.label));
  const files = filesOf(answer.sources);
  const text = [`**${plain(question)}**`, "", `*${stated(answer)}*`, "", body(answer, places)];
  if (sources.length) text.push("", `## ${texts.ask.sources}`, "", ...sources.map((s) => line(s, files, places)));
  return `${text.join("\n")}\n`;
}

/** Return the answer, each quote a paragraph with its own lines; code stays as it is. */
function body(answer: Answer, places: Places): string {
  const quoted = quotes(places);
  const parts = withoutOpening(answer.text).trim().split(/^(`{3,}[^]*?^`{3,})$/m);
  return parts.map((part, i) => (i % 2 ? part : part.replace(/\n+/g, "\n\n").split("\n").map((line) => withLines(line, quoted)).join("\n"))).join("");
}

/** Return how sure an answer is, and whether it is one. */
function stated({ done }: Answer): string {
  if (!done) return texts.errors.brokenOff;
  const how = { sure: "", unsure: texts.ask.unsure, none: texts.ask.notFound }[standing(done)];
  return [how, texts.ask.confidence(done.confidence), done.extractive && texts.ask.quoted].filter(Boolean).join(". ");
}

function line(source: Source, files: ReadonlyMap<string, string>, places: Places): string {
  const place = places.get(source.label);
  const where = place && whereOf(place, source.title);
  const file = source.uri ? (files.get(source.uri) ?? fileOf(source.uri)) : texts.ask.external;
  return `- [${source.label}] ${plain(source.title)} (${plain([file, where].filter(Boolean).join(", "))})`;
}

// a title does not become markup
const plain = (text: string) => text.replace(/\s+/g, " ").replace(/([\\`*_[\]<>])/g, "\\$1");
