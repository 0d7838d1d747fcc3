/** A question as its address says it, and as the API is asked. */
import type { Schema } from "../api/client";
import { to, type Address } from "../router";
import { texts } from "../texts";

export type SearchName = keyof typeof texts.retrievers;
type Request = Schema["QueryRequest"];
type Filter = NonNullable<Request["filters"]>;

export interface Condition {
  key: string;
  operator: string;
  value: string;
}

export interface Asked {
  question: string;
  search: SearchName;
  compare: SearchName | "";
  conditions: readonly Condition[];
  /** Questions before this one that it may lean on, oldest first. */
  before: readonly string[];
}

export const STANDARD: SearchName = "traversal";
export const OPERATORS = ["==", "!=", "<", "<=", ">", ">=", "in", "not_in"] as const;
const CONDITION = /^(\S+) (==|!=|<=|>=|<|>|in|not_in) (.*)$/s;

export function asked(at: Address): Asked {
  return {
    question: at.query.get("q") ?? "",
    search: search(at.query.get("by")) || STANDARD,
    compare: search(at.query.get("vs")),
    conditions: at.query.getAll("where").flatMap(condition),
    before: at.query.getAll("after"),
  };
}

const search = (name: string | null): SearchName | "" => (name && name in texts.retrievers ? (name as SearchName) : "");

function condition(text: string): Condition[] {
  const [, key, operator, value] = CONDITION.exec(text) ?? [];
  return key && operator ? [{ key, operator, value: value ?? "" }] : [];
}

const written = (c: Condition) => `${c.key} ${c.operator} ${c.value}`;

/** Return a condition as one would say it. */
export const shown = (c: Condition) => `${c.key} ${texts.ask.operators[c.operator]} ${c.value}`;

/** Return the questions before, each as it was asked, oldest first. */
export const turns = (a: Asked): Asked[] => a.before.map((question, i) => ({ ...a, question, before: a.before.slice(0, i) }));

export function addressOf(a: Asked, view = "ask"): string {
  return to(view, "", {
    q: a.question,
    by: a.search === STANDARD ? "" : a.search,
    vs: a.compare,
    where: a.conditions.map(written),
    after: a.before,
  });
}

/** Return what the API is asked for one of the searches. */
export function request(a: Asked, by: SearchName): Request {
  const flat = by === "hybrid-flat";
  return {
    question: a.question,
    stream: true,
    sources_first: true,
    retriever: flat ? "hybrid" : by,
    parameters: flat ? { expand_hops: 0, subgraph_depth: 0 } : {},
    history: a.before.map((content) => ({ role: "user" as const, content })),
    ...(a.conditions.length ? { filters: filter(a.conditions) } : {}),
  } as Request;
}

export function filter(conditions: readonly Condition[]): Filter {
  return { condition: "and", filters: conditions.map(comparison) } as Filter;
}

function comparison(c: Condition): unknown {
  const list = c.operator === "in" || c.operator === "not_in";
  const value = list ? c.value.split(",").map((v) => scalar(v.trim())) : scalar(c.value);
  return { key: c.key, operator: c.operator, value };
}

// "2024" is a number; in quotes it is a text
function scalar(text: string): string | number | boolean {
  if (/^".*"$/s.test(text)) return text.slice(1, -1);
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
