/** The frame around the views: navigation, key, look, and whether the server is there. */
import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get, reachable } from "./api/client";
import { useArrival } from "./arrival";
import { Icon, type IconName } from "./parts/icons";
import { useNarrow } from "./resource";
import { address, to, type Address } from "./router";
import { keyWanted } from "./session";
import { texts } from "./texts";
import Ask from "./views/ask";
import Document from "./views/document";
import Documents from "./views/documents";
import Entities from "./views/entities";
import GraphView from "./views/graph";
import Ingest from "./views/ingest";
import Overview from "./views/overview";
import Settings, { KeyDialog, ThemeSwitch } from "./views/settings";

export interface ViewProps {
  address: Address;
}
type View = ComponentType<ViewProps>;

const VIEWS: Record<string, { Component: View; icon?: IconName; under?: string }> = {
  ask: { Component: Ask, icon: "ask" },
  documents: { Component: Documents, icon: "documents" },
  document: { Component: Document, under: "documents" },
  graph: { Component: GraphView, icon: "graph" },
  entities: { Component: Entities, icon: "entities" },
  entity: { Component: Entities, under: "entities" },
  ingest: { Component: Ingest, icon: "ingest" },
  overview: { Component: Overview, icon: "overview" },
  settings: { Component: Settings },
};

export function App() {
  const at = address.value;
  const known = Object.hasOwn(VIEWS, at.view) ? at.view : "missing";
  const { Component, under } = VIEWS[known] ?? { Component: Missing };
  const current = under ?? known;
  const main = useRef<HTMLElement>(null);
  const narrow = useNarrow();
  // before the view fetches anything: it may scroll to its own place then
  useLayoutEffect(() => {
    document.title = `${texts.views[known as keyof typeof texts.views]} · Lexigraph`;
  }, [known]);
  useArrival(main, at);
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
                  <span>{(narrow && texts.shell.short[name]) || texts.views[name as keyof typeof texts.views]}</span>
                </a>
              ),
          )}
        </nav>
        <div class="tools">
          <ThemeSwitch />
          <a class="tool" href={to("settings")} aria-current={current === "settings" ? "page" : undefined} title={texts.views.settings}>
            <Icon name="settings" />
            <span>{texts.views.settings}</span>
          </a>
        </div>
      </header>
      <main ref={main} tabIndex={-1}>
        <Connection />
        <Component key={known} address={at} />
      </main>
      {keyWanted.value && <KeyDialog why={keyWanted.value} />}
    </div>
  );
}

/** What an address shows that leads nowhere. */
function Missing() {
  return (
    <div class="page narrow">
      <h1>{texts.views.missing}</h1>
      <p class="faint">{texts.shell.missing}</p>
      <p class="row way-on">
        <a class="button primary" href={to("ask")}>
          {texts.ask.title}
        </a>
        <a class="button" href={to("documents")}>
          {texts.views.documents}
        </a>
      </p>
    </div>
  );
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
