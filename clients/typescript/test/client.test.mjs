// Against a server: LEXIGRAPH_URL and LEXIGRAPH_API_KEY; CLIENT is the folder of the built package.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { inspect } from "node:util";

const { ApiError, Lexigraph } = await import(`${process.env.CLIENT}/index.js`);
const url = process.env.LEXIGRAPH_URL;
const client = new Lexigraph({ url, apiKey: process.env.LEXIGRAPH_API_KEY });
const QUESTION = "Who runs the Sable Ferry?";
const FERRY = "The Sable Ferry is run by the Quill Line.";

async function all(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

async function scripted(replies, run) {
  const asked = [];
  const server = createServer((request, response) => {
    const [status, headers, body] = replies[Math.min(asked.length, replies.length - 1)];
    asked.push(request);
    response.writeHead(status, headers).end(body.replaceAll("HOST", request.headers.host));
    request.resume();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await run(new Lexigraph({ url: `http://127.0.0.1:${server.address().port}`, apiKey: "lxk_1" }), asked);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

const json = (told) => [200, { "Content-Type": "application/json" }, JSON.stringify(told)];
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
  const found = await all(client.documents({ namespace: "ts" }));
  assert.deepEqual([found.length, found[0].title, found[0].metadata.year], [1, "Mill", 1920]);
  await client.deleteDocument(found[0].id);
  assert.deepEqual(await all(client.documents({ namespace: "ts" })), []);
});

test("what is no JSON is told as such", async () => {
  const wrong = { name: "ApiError", code: "unexpected", message: /not valid JSON/ };
  await scripted([[200, {}, "<html>Log in first</html>"]], (one) => assert.rejects(one.get("/health"), wrong));
  await scripted([[200, {}, "data: {\n\n"]], (one) => assert.rejects(all(one.stream(QUESTION)), wrong));
});

test("an id never leads to another route", async () => {
  await scripted([json({})], async (one, asked) => {
    await one.deleteDocument("../keys/lxk_1?x#y");
    for (const id of ["", ".", ".."]) {
      await assert.rejects(async () => one.deleteDocument(id), { name: "ApiError", status: 0, code: "invalid_input" });
    }
    assert.deepEqual(asked.map(({ url }) => url), ["/documents/..%2Fkeys%2Flxk_1%3Fx%23y"]);
  });
});

test("a key goes to no address that the server leads to, and is not printed with its client", async () => {
  await scripted([json({ answer: "x" })], async (other, asked) => {
    await scripted([[307, { Location: `${other.root.href}query` }, ""]], async (one) => {
      await assert.rejects(one.query(QUESTION), { name: "ApiError", status: 307, code: "redirected" });
      assert.doesNotMatch(JSON.stringify(one) + inspect(one), /lxk_1/);
    });
    assert.equal(asked.length, 0);
  });
});

test("a large file goes where a deployment says, without the key, and otherwise to the server", async () => {
  const large = "x".repeat(4_000_001);
  const offer = { job_id: "7", url: "http://HOST/bucket", headers: { "x-amz-meta-job": "7" } };
  await scripted([json(offer), json({}), json({ id: "7", status: "SUCCEEDED" })], async (one, asked) => {
    assert.equal((await one.upload("mill.txt", large)).status, "SUCCEEDED");
    assert.deepEqual(asked.map(({ method, url }) => `${method} ${url}`), ["POST /documents/upload-url", "PUT /bucket", "GET /jobs/7"]);
    assert.deepEqual([asked[1].headers["x-amz-meta-job"], asked[1].headers["x-api-key"]], ["7", undefined]);
  });
  await assert.rejects(client.upload("mill.unknown", large), { status: 422, message: /unsupported type/ });
});

test("all pages of statements, topics and entities are read", async () => {
  const [document] = await all(client.documents({ find: "sable" }));
  const read = await all(client.statements(document.id));
  assert.ok(read.some((statement) => statement.text === FERRY));
  assert.ok((await all(client.topics(document.id))).length > 0);
  const [entity] = await all(client.entities("Quill Line"));
  const sources = await all(client.entityStatements(entity.id));
  assert.ok(sources.some((source) => source.statements.some((statement) => statement.text === FERRY)));
  assert.deepEqual((await all(client.entityNeighbours(entity.id))).map(({ name }) => name), ["The Sable Ferry"]);
  const two = [json({ entities: [1, 2], next: "a" }), json({ entities: [3], next: null })];
  await scripted(two, async (one, asked) => {
    assert.deepEqual(await all(one.entities("x")), [1, 2, 3]);
    assert.deepEqual(asked.map(({ url }) => url), ["/entities?q=x", "/entities?q=x&cursor=a"]);
  });
});

test("entities that may be one are proposed, merged and parted again", async () => {
  await client.upload("company.md", "# Company\n\nVardo Shipping Company owns two ships. Vardo Shipping runs ferries.");
  const [{ name, other }] = await client.proposals("Vardo Shipping");
  assert.deepEqual([name, other].sort(), ["Vardo Shipping", "Vardo Shipping Company"]);
  const [{ id }] = await all(client.entities(name));
  const aliases = async () => (await client.get("/entities/{entity_id}", { path: { entity_id: id } })).aliases.map((one) => one.name);
  const made = await client.decide("merge", name, [other], "one firm");
  assert.deepEqual([made.kind, made.name, made.others, made.note], ["merge", name, [other], "one firm"]);
  assert.deepEqual(await aliases(), [other]);
  assert.ok((await client.undoDecision(made.id)).undone_at);
  assert.deepEqual(await aliases(), []);
  assert.deepEqual((await client.decisions()).map((one) => one.id), [made.id]);
});

test("errors say what the server said", async () => {
  await assert.rejects(client.query(""), (error) => error instanceof ApiError && error.status === 422 && error.requestId.length === 16);
  await assert.rejects(new Lexigraph({ url, apiKey: "wrong" }).query(QUESTION), { status: 401, code: "unauthorized" });
  await assert.rejects(new Lexigraph({ url: "http://127.0.0.1:9", attempts: 2 }).get("/health"), { status: 0, code: "unreachable" });
});

test("a busy server is asked again, and what may have been done is not", async () => {
  await scripted([busy, busy, json({ answer: "x" })], async (one, asked) => {
    assert.equal((await one.query(QUESTION)).answer, "x");
    assert.equal(asked.length, 3);
  });
  await scripted([busy], async (one, asked) => {
    await assert.rejects(one.post("/keys", { body: { name: "x" } }), { status: 503 });
    assert.equal(asked.length, 1);
  });
});

test("what is safe is asked again where there was no connection", async () => {
  const attempt = async (route, asked) => {
    let tried = 0;
    const fetch = async () => {
      if (++tried < 3) throw new TypeError("fetch failed");
      return new Response("{}", { headers: { "Content-Type": "application/json" } });
    };
    const one = new Lexigraph({ url, fetch });
    await one.post(route, asked).catch((error) => assert.deepEqual([error.status, error.code], [0, "unreachable"]));
    return tried;
  };
  assert.equal(await attempt("/query", { body: { question: QUESTION } }), 3);
  assert.equal(await attempt("/keys", { body: { name: "x" } }), 1);
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
