/** The questions of this tab, newest first. */
import { signal } from "@preact/signals";

const NAME = "lexigraph-questions";
const MOST = 30;

export interface Past {
  question: string;
  address: string;
}

function stored(): Past[] {
  try {
    return JSON.parse(sessionStorage.getItem(NAME) ?? "[]") as Past[];
  } catch {
    return [];
  }
}

export const past = signal<readonly Past[]>(stored());

export function remember(question: string, address: string): void {
  if (past.value[0]?.address === address) return;
  past.value = [{ question, address }, ...past.value.filter((p) => p.address !== address)].slice(0, MOST);
  sessionStorage.setItem(NAME, JSON.stringify(past.value));
}

export function forgetAll(): void {
  past.value = [];
  sessionStorage.removeItem(NAME);
}
