/** Key and look of the page. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "../parts/icons";
import { forgetKey, key, keyWanted, theme, takeKey, type Theme } from "../session";
import { texts } from "../texts";
import { Keys } from "./keys";

const THEMES: readonly Theme[] = ["system", "light", "dark"];
const ICONS: Record<Theme, IconName> = { system: "system", light: "sun", dark: "moon" };

export default function Settings() {
  return (
    <div class="page narrow">
      <h1>{texts.views.settings}</h1>
      <section class="card">
        <h2>{texts.key.title}</h2>
        <p>{key.value ? texts.key.set(key.value.slice(0, 12)) : texts.key.open}</p>
        {key.value && (
          <button type="button" class="quiet" onClick={() => forgetKey("")}>
            {texts.key.forget}
          </button>
        )}
        <KeyForm />
      </section>
      <section class="card">
        <h2 id="look">{texts.shell.theme.label}</h2>
        <div class="choices" role="radiogroup" aria-labelledby="look">
          {THEMES.map((name) => (
            <label key={name}>
              <input type="radio" name="theme" checked={theme.value === name} onChange={() => (theme.value = name)} />
              {texts.shell.theme[name]}
            </label>
          ))}
        </div>
      </section>
      <Keys />
    </div>
  );
}

/** One button that goes round: as the system, light, dark. */
export function ThemeSwitch() {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
  const told = `${texts.shell.theme.label}: ${texts.shell.theme[theme.value]}`;
  return (
    <button type="button" class="tool" title={told} onClick={() => (theme.value = next)}>
      <Icon name={ICONS[theme.value]} />
      <span>{texts.shell.theme.short[theme.value]}</span>
    </button>
  );
}

/** Asks for a key over the view that needs one. */
export function KeyDialog({ why }: { why: "missing" | "refused" }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  const close = () => (keyWanted.value = "");
  return (
    <dialog ref={dialog} aria-labelledby="key-title" onClose={close}>
      <h2 id="key-title">{texts.key.title}</h2>
      <p role={why === "refused" ? "alert" : undefined}>{texts.key[why]}</p>
      <KeyForm later={() => dialog.current!.close()} />
    </dialog>
  );
}

function KeyForm({ later }: { later?: () => void }) {
  const [given, setGiven] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (given.trim()) takeKey(given.trim());
    setGiven("");
  };
  return (
    <form class="key-form" onSubmit={submit}>
      <label>
        {texts.key.label}
        <input
          type="password"
          value={given}
          autocomplete="off"
          spellcheck={false}
          placeholder="lxk_…"
          aria-describedby="key-why"
          onInput={(e) => setGiven(e.currentTarget.value)}
        />
      </label>
      <p id="key-why" class="faint small">
        {texts.key.why}
      </p>
      <div class="row">
        <button type="submit" class="primary" disabled={!given.trim()}>
          {texts.key.use}
        </button>
        {later && (
          <button type="button" class="quiet" onClick={later}>
            {texts.key.later}
          </button>
        )}
      </div>
    </form>
  );
}
