/** An answer to take along: question, answer, and what its labels stand for. */
import { texts } from "../texts";
import type { Answer, Source } from "./answer";

export function asMarkdown(question: string, answer: Answer): string {
  const cited = new Set(answer.done?.references.map((r) => r.label));
  const sources = answer.sources.filter((s) => cited.has(s.label));
  const lines = [`**${plain(question)}**`, "", answer.text.trim()];
  if (sources.length) lines.push("", `## ${texts.ask.sources}`, "", ...sources.map(line));
  return `${lines.join("\n")}\n`;
}

function line(source: Source): string {
  const place = source.uri ? `${source.uri}, ${texts.characters(source.start, source.end)}` : texts.ask.external;
  return `- [${source.label}] ${plain(source.title)} (${place})`;
}

// a title does not become markup
const plain = (text: string) => text.replace(/\s+/g, " ").replace(/([\\`*_[\]<>])/g, "\\$1");
