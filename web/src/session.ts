/** What the page remembers: the key for this tab only, the look of the page for this browser. */
import { effect, signal } from "@preact/signals";

const KEY = "lexigraph-key";
const THEME = "lexigraph-theme";

export type Theme = "system" | "light" | "dark";

export const key = signal(sessionStorage.getItem(KEY) ?? "");
/** Why a key is asked for; empty while none is. */
export const keyWanted = signal<"" | "missing" | "refused">("");
export const theme = signal<Theme>((localStorage.getItem(THEME) as Theme | null) ?? "system");

export function takeKey(given: string): void {
  sessionStorage.setItem(KEY, given);
  key.value = given;
  keyWanted.value = "";
}

export function forgetKey(why: "" | "missing" | "refused"): void {
  sessionStorage.removeItem(KEY);
  key.value = "";
  keyWanted.value = why;
}

effect(() => {
  const chosen = theme.value;
  if (chosen === "system") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem(THEME);
  } else {
    document.documentElement.dataset.theme = chosen;
    localStorage.setItem(THEME, chosen);
  }
});
