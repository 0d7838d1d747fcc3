/** A client of the Lexigraph HTTP API for Node.js and browsers. */
import { ApiError, Transport, type Options, type Schema } from "./transport.js";

export { ApiError, Transport, type Options, type Schema, type ServerEvent } from "./transport.js";

type Without<T, K extends string> = Partial<Omit<T, K>>;
export type Job = Schema["JobReply"];

const ENDED = ["SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"];
const POLL_MILLISECONDS = 1000;
const LARGE_BYTES = 4_000_000; // in a deployment larger files are put into the bucket

/** A piece of an answer, and at its end the whole reply. */
export type AnswerPiece = { text: string; done?: undefined } | { text: ""; done: Schema["QueryReply"] };

export class Lexigraph extends Transport {
  constructor(options: Options) {
    super({ attempts: 4, ...options });
  }

  /** Answer a question, with citations. */
  query(question: string, options: Without<Schema["QueryRequest"], "question" | "stream"> = {}) {
    return this.post("/query", { body: { question, ...options } as Schema["QueryRequest"] });
  }

  /** Answer a question piece by piece; the last piece has the whole reply. */
  async *stream(
    question: string,
    options: Without<Schema["QueryRequest"], "question" | "stream"> = {},
    signal?: AbortSignal,
  ): AsyncGenerator<AnswerPiece> {
    let sources: unknown = [];
    for await (const event of this.events("/query", { question, ...options, stream: true }, "done", signal)) {
      if (event.name === "token") yield { text: (event.data as { text: string }).text };
      else if (event.name === "sources") sources = event.data;
      else if (event.name === "done") yield { text: "", done: { sources, ...(event.data as object) } as Schema["QueryReply"] };
    }
  }

  /** Retrieve ranked statements. */
  retrieve(
    question: string,
    retriever: "traversal" | "semantic-guided" | "hybrid" | "multihop" | "multidoc" | "recall" | "vector" | "bm25" | "fused" =
      "traversal",
    options: Without<Schema["RetrieveRequest"], "question"> = {},
  ) {
    const body = { question, ...options } as Schema["RetrieveRequest"];
    return this.post("/retrieve/{retriever}", { path: { retriever }, body });
  }

  /**
   * Upload a file and wait up to `wait` seconds until it is ingested (0: do not wait). A file of the same name in the same
   * namespace is replaced; names may have folders (`guide/index.md`). The job of a file that cannot be read is `FAILED`. Files
   * over 4 MB go to the upload URL of a deployment.
   */
  async upload(
    name: string,
    data: Blob | string,
    {
      namespace = "default",
      metadata,
      wait = 600,
    }: { namespace?: string; metadata?: Record<string, string | number | boolean>; wait?: number } = {},
  ): Promise<Job> {
    const file = typeof data === "string" ? new Blob([data]) : data;
    // metadata can only be sent with the file
    const offered = file.size > LARGE_BYTES && !metadata ? await this.offered(name, file, namespace) : null;
    if (offered) return this.wait(offered, wait);
    const form = new FormData();
    form.set("file", file, name);
    form.set("namespace", namespace);
    if (metadata) form.set("metadata", JSON.stringify(metadata));
    const response = await this.send("POST", "/documents", { query: { wait: 0 }, body: form });
    const job = (await response.json()) as Schema["DocumentJob"];
    return this.wait(job.job_id, wait);
  }

  /** Put a large file where the server says; return the job, null where the server takes it directly. */
  private async offered(name: string, file: Blob, namespace: string): Promise<string | null> {
    let response: Response;
    try {
      response = await this.send("POST", "/documents/upload-url", { body: { name, namespace } });
    } catch (error) {
      // a server that ingests files itself has no such route
      if (error instanceof ApiError && [404, 405].includes(error.status)) return null;
      throw error;
    }
    const offer = (await response.json()) as { job_id: string; url: string; headers: Record<string, string> };
    await this.put(offer.url, file, offer.headers);
    return offer.job_id;
  }

  /** Wait until a job has ended, or for so many seconds; return it as it is then. */
  async wait(jobId: string, seconds = 600): Promise<Job> {
    const deadline = Date.now() + seconds * 1000;
    while (true) {
      const job = await this.get("/jobs/{job_id}", { path: { job_id: jobId } });
      if (ENDED.includes(job.status) || Date.now() >= deadline) return job;
      await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
    }
  }

  /** All documents, sorted by URI; `find` are words of title, URI and namespace. */
  documents(options: { namespace?: string; find?: string } = {}): AsyncGenerator<Schema["DocumentReply"]> {
    return pages(
      (after) => this.get("/documents", { query: { ...options, after } }),
      (page) => page.documents,
    );
  }

  /** Delete a document and everything that only it supports. */
  deleteDocument(documentId: string) {
    return this.remove("/documents/{document_id}", { path: { document_id: documentId } });
  }

  /** A document's topics. */
  topics(documentId: string): AsyncGenerator<Schema["TopicReply"]> {
    return pages(
      (cursor) => this.get("/documents/{document_id}/topics", { path: { document_id: documentId }, query: { cursor } }),
      (page) => page.topics,
    );
  }

  /** A document's statements in reading order, or those of a range of its text. */
  statements(documentId: string, range: { start?: number; end?: number } = {}): AsyncGenerator<Schema["PlacedStatement"]> {
    const path = { document_id: documentId };
    return pages(
      (cursor) => this.get("/documents/{document_id}/statements", { path, query: { ...range, cursor } }),
      (page) => page.statements,
    );
  }

  /** Entities whose names contain words, best first; without words those that most documents name. */
  entities(q = ""): AsyncGenerator<Schema["EntitySummary"]> {
    return pages(
      (cursor) => this.get("/entities", { query: { q, cursor } }),
      (page) => page.entities,
    );
  }

  /** Documents with their statements that mention an entity. A document may come in several parts. */
  entityStatements(entityId: string, document = ""): AsyncGenerator<Schema["SourceStatements"]> {
    return pages(
      (cursor) => this.get("/entities/{entity_id}/statements", { path: { entity_id: entityId }, query: { document, cursor } }),
      (page) => page.sources,
    );
  }

  /** The entities that occur in the same statements, most frequent first. */
  entityNeighbours(entityId: string): AsyncGenerator<Schema["NeighbourReply"]> {
    return pages(
      (cursor) => this.get("/entities/{entity_id}/neighbours", { path: { entity_id: entityId }, query: { cursor } }),
      (page) => page.neighbours,
    );
  }

  /** Entities that may be one, with the evidence, the most likely first. */
  async proposals(name = "", limit = 20): Promise<Schema["ProposalReply"][]> {
    return (await this.get("/curation/proposals", { query: { name, limit } })).proposals;
  }

  /** Merge entities, add aliases to one, or split one: `documents` are the ids or URIs in which `name` means `others[0]`. */
  decide(kind: Schema["NewDecision"]["kind"], name: string, others: string[], note = "", documents: string[] = []): Promise<Schema["DecisionReply"]> {
    return this.post("/curation/decisions", { body: { kind, name, others, note, documents } });
  }

  /** Merges, aliases and splits, including undone ones. */
  async decisions(): Promise<Schema["DecisionReply"][]> {
    return (await this.get("/curation/decisions")).decisions;
  }

  /** Undo a merge or an alias. */
  undoDecision(decisionId: string): Promise<Schema["DecisionReply"]> {
    return this.remove("/curation/decisions/{decision_id}", { path: { decision_id: decisionId } });
  }
}

/** Yield what stands in all pages. */
async function* pages<P extends { next?: string | null }, T>(
  ask: (after: string) => Promise<P>,
  items: (page: P) => T[],
): AsyncGenerator<T> {
  let after = "";
  do {
    const page = await ask(after);
    yield* items(page);
    after = page.next ?? "";
  } while (after);
}
