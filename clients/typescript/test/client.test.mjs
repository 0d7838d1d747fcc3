// Against a server: LEXIGRAPH_URL and LEXIGRAPH_API_KEY; CLIENT is the folder of the built package.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

const { ApiError, Lexigraph } = await import(`${process.env.CLIENT}/index.js`);
const url = process.env.LEXIGRAPH_URL;
const client = new Lexigraph({ url, apiKey: process.env.LEXIGRAPH_API_KEY });
const QUESTION = "Who runs the Sable Ferry?";

async function scripted(replies, run) {
  const asked = [];
  const server = createServer((request, response) => {
    const [status, headers, body] = replies[Math.min(asked.length, replies.length - 1)];
    asked.push(request.url);
    response.writeHead(status, headers).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await run(new Lexigraph({ url: `http://127.0.0.1:${server.address().port}` }), asked);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

const busy = [503, { "Retry-After": "0" }, JSON.stringify({ error: "unavailable", message: "not now", request_id: "1" })];

test("a question gets a cited answer and statements", async () => {
  const answer = await client.query(QUESTION);
  assert.match(answer.answer, /Quill Line/);
  const found = await client.retrieve(QUESTION, "bm25", { parameters: { max_search_results: 1 } });
  assert.equal(found.results.length, 1);
});

test("an answer streams and ends with the whole reply", async () => {
  let text = "";
  let done;
  for await (const piece of client.stream(QUESTION)) {
    text += piece.text;
    done = piece.done ?? done;
  }
  assert.equal(done.answer, text);
  assert.ok(done.sources.length > 0);
});

test("a stream that is left ends, and the client goes on", async () => {
  for await (const _ of client.stream(QUESTION)) break;
  assert.equal((await client.get("/health")).status, "ok");
});

test("a file is uploaded, found on a page and deleted", async () => {
  const job = await client.upload("mill.md", "# Mill\n\nThe Mill grinds rye.", { namespace: "ts", metadata: { year: 1920 } });
  assert.equal(job.status, "SUCCEEDED");
  const found = [];
  for await (const document of client.documents({ namespace: "ts" })) found.push(document);
  assert.deepEqual([found.length, found[0].title, found[0].metadata.year], [1, "Mill", 1920]);
  await client.deleteDocument(found[0].id);
  for await (const document of client.documents({ namespace: "ts" })) assert.fail(document.uri);
});

test("errors say what the server said", async () => {
  await assert.rejects(client.query(""), (error) => error instanceof ApiError && error.status === 422 && error.requestId.length === 16);
  await assert.rejects(new Lexigraph({ url, apiKey: "wrong" }).query(QUESTION), { status: 401, code: "unauthorized" });
  await assert.rejects(new Lexigraph({ url: "http://127.0.0.1:9", attempts: 2 }).get("/health"), { status: 0, code: "unreachable" });
});

test("a busy server is asked again, and what may have been done is not", async () => {
  const ok = [200, { "Content-Type": "application/json" }, JSON.stringify({ answer: "x" })];
  await scripted([busy, busy, ok], async (one, asked) => {
    assert.equal((await one.query(QUESTION)).answer, "x");
    assert.equal(asked.length, 3);
  });
  await scripted([busy], async (one, asked) => {
    await assert.rejects(one.post("/keys", { body: { name: "x" } }), { status: 503 });
    assert.equal(asked.length, 1);
  });
});

test("a stream that breaks off is an error", async () => {
  const half = [200, { "Content-Type": "text/event-stream" }, 'event: token\ndata: {"text":"The"}\n\n'];
  await scripted([half], async (one) => {
    let text = "";
    await assert.rejects(async () => {
      for await (const piece of one.stream(QUESTION)) text += piece.text;
    }, { code: "broken_off" });
    assert.equal(text, "The");
  });
});
