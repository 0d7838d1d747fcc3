/** What a newcomer is told: while no document is stored, what to do first. */
import type { ComponentChildren } from "preact";
import { get } from "../api/client";
import { useResource } from "../resource";
import { to } from "../router";
import { texts } from "../texts";
import { Empty } from "./basics";

export function NoDocuments() {
  return (
    <Empty title={texts.start.title}>
      <p>
        {texts.start.upload} <Command /> {texts.start.then}
      </p>
      <a class="button primary" href={to("ingest")}>
        {texts.views.ingest}
      </a>
    </Empty>
  );
}

/** How files come in without this page. */
export function Command() {
  return (
    <>
      {texts.start.run} <code class="flag">{texts.start.command}</code> {texts.start.with}
    </>
  );
}

/** Stands where nothing is found: that is told by its children, unless there is no document at all. */
export function Nothing({ children }: { children?: ComponentChildren }) {
  const { data, loading } = useResource((signal) => get("/documents", { query: { limit: 1 }, signal }), []);
  if (!data && loading) return null;
  return data?.documents.length === 0 ? <NoDocuments /> : <>{children}</>;
}
