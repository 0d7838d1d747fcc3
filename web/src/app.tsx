/** The frame around the views: navigation, key, look, and whether the server is there. */
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, reachable } from "./api/client";
import { Failure, Loading } from "./parts/basics";
import { Icon, type IconName } from "./parts/icons";
import { asApiError } from "./resource";
import { address, to, type Address } from "./router";
import { keyWanted } from "./session";
import { texts } from "./texts";
import { KeyDialog, ThemeSwitch } from "./views/settings";

export interface ViewProps {
  address: Address;
}
type View = ComponentType<ViewProps>;

// each view is a file of its own, fetched when it is first opened
const VIEWS: Record<string, { load: () => Promise<{ default: View }>; icon?: IconName; under?: string }> = {
  ask: { load: () => import("./views/ask"), icon: "ask" },
  documents: { load: () => import("./views/documents"), icon: "documents" },
  document: { load: () => import("./views/document"), under: "documents" },
  graph: { load: () => import("./views/graph"), icon: "graph" },
  entities: { load: () => import("./views/entities"), icon: "entities" },
  entity: { load: () => import("./views/entities"), under: "entities" },
  ingest: { load: () => import("./views/ingest"), icon: "ingest" },
  overview: { load: () => import("./views/overview"), icon: "overview" },
  settings: { load: () => import("./views/settings") },
};

export function App() {
  const at = address.value;
  const known = VIEWS[at.view] ? at.view : "ask";
  const current = VIEWS[known]!.under ?? known;
  const main = useRef<HTMLElement>(null);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        {texts.shell.skip}
      </button>
      <header class="bar">
        <a class="brand" href={to("ask")}>
          <img src="./icon.svg" alt="" width={24} height={24} />
          Lexigraph
        </a>
        <nav aria-label={texts.shell.nav}>
          {Object.entries(VIEWS).map(
            ([name, view]) =>
              view.icon && (
                <a key={name} href={to(name)} aria-current={current === name ? "page" : undefined}>
                  <Icon name={view.icon} />
                  <span>{texts.views[name as keyof typeof texts.views]}</span>
                </a>
              ),
          )}
        </nav>
        <div class="tools">
          <ThemeSwitch />
          <a class="tool" href={to("settings")} aria-current={current === "settings" ? "page" : undefined} title={texts.views.settings}>
            <Icon name="settings" />
            <span class="hidden">{texts.views.settings}</span>
          </a>
        </div>
      </header>
      <main ref={main} tabIndex={-1}>
        <Connection />
        <Shown key={known} name={known} at={at} />
      </main>
      {keyWanted.value && <KeyDialog why={keyWanted.value} />}
    </div>
  );
}

function Shown({ name, at }: { name: string; at: Address }) {
  const [view, setView] = useState<{ Component: View } | { error: unknown } | null>(null);
  useEffect(() => {
    let left = false;
    document.title = `${texts.views[name as keyof typeof texts.views]} · Lexigraph`;
    VIEWS[name]!.load().then(
      (module) => !left && setView({ Component: module.default }),
      (error: unknown) => !left && setView({ error }),
    );
    return () => {
      left = true;
    };
  }, [name]);
  if (!view) return <Loading />;
  if ("error" in view) return <Failure error={asApiError(view.error)} retry={() => location.reload()} />;
  return <view.Component address={at} />;
}

/** Tells when the server is gone, and asks for it until it is back. */
function Connection() {
  const [back, setBack] = useState(false);
  const lost = !reachable.value;
  useEffect(() => {
    if (!lost) return;
    const timer = setInterval(() => {
      get("/health").then(
        () => {
          setBack(true);
          setTimeout(() => setBack(false), 4000);
        },
        () => undefined,
      );
    }, 2000);
    return () => clearInterval(timer);
  }, [lost]);
  return (
    <div class="connection" role="status">
      {lost && <p class="gone">{texts.shell.gone}</p>}
      {!lost && back && <p class="back">{texts.shell.back}</p>}
    </div>
  );
}
