/** A client of the Lexigraph HTTP API for Node.js and browsers. */
import { Transport, type Options, type Schema } from "./transport.js";

export { ApiError, Transport, type Options, type Schema, type ServerEvent } from "./transport.js";

type Without<T, K extends string> = Partial<Omit<T, K>>;
export type Job = Schema["JobReply"];

const ENDED = ["SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"];
const POLL_MILLISECONDS = 1000;

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

  /** Upload a file and wait up to `wait` seconds until it is ingested (0: do not wait). */
  async upload(
    name: string,
    data: Blob | string,
    {
      namespace = "default",
      metadata,
      wait = 600,
    }: { namespace?: string; metadata?: Record<string, string | number | boolean>; wait?: number } = {},
  ): Promise<Job> {
    const form = new FormData();
    form.set("file", typeof data === "string" ? new Blob([data]) : data, name);
    form.set("namespace", namespace);
    if (metadata) form.set("metadata", JSON.stringify(metadata));
    const response = await this.send("POST", "/documents", { query: { wait: 0 }, body: form });
    const job = (await response.json()) as Schema["DocumentJob"];
    return this.wait(job.job_id, wait);
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
  async *documents(options: { namespace?: string; find?: string } = {}): AsyncGenerator<Schema["DocumentReply"]> {
    let after: string | null = "";
    do {
      const page: Schema["DocumentList"] = await this.get("/documents", { query: { ...options, after: after ?? "" } });
      yield* page.documents;
      after = page.next;
    } while (after);
  }

  /** Delete a document and everything that only it supports. */
  deleteDocument(documentId: string) {
    return this.remove("/documents/{document_id}", { path: { document_id: documentId } });
  }
}
