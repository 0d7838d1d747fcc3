"""Every function of a deployment made to do all that it does, over stand-ins, and what it asked of AWS noted by function.

A function runs in a process of its own with the environment that the synthesized template of profile dev gives it: names of
tables and buckets are those that the template refers to, addresses lead to the stand-ins. The state machine calls functions
as in a deployment; documents come, change, fail and go; the API is asked for all that it offers.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Self

import httpx

from functions.invoke import EVENTS
from infra.live.probing import PLAN
from infra.state_machine import FUNCTIONS, definition
from lexigraph.ingestion.extract.schema import REPLY
from tests.infra.templates import Templates
from tests.models import WordEmbedder
from tests.rights.calls import Call
from tests.standins.aws_server import ENVIRONMENT, REGION
from tests.standins.bedrock_server import BedrockServer, message, streamed, tool_use
from tests.standins.cloud import Cloud
from tests.standins.lambda_runtime import LambdaRuntime
from tests.standins.neptune import NeptuneStandIn
from tests.standins.neptune_loader import Loader
from tests.standins.opensearch import OpenSearchServer

ROOT = Path(__file__).parents[2]
HOOK = Path(__file__).with_name("hook")
REFERENCE = re.compile(r"<(\w+)/(\w+)(?:\.\w+)?>")
PEOPLE = "BulkPolicy"  # whoever runs `lexigraph bulk`
LOADER = "<graph/Loader>"
_TITAN, _DIMENSION, _OTHER = "bedrock:amazon.titan-embed-text-v2:0", 1_024, 256
_ANSWER = "The Heron Team is led by Ines Calloway [S1]."
_KEY = "default/default/harbour.md"
_HARBOUR = "# Harbour Office\n\nThe Harbour Office runs Lighthouse.\n\nTove Lund built Granite for the Harbour Office.\n"
# of several chunks, which are related to each other
_SECTIONS = "".join(
    f"\n## Pier {pier}\n\n" + "".join(f"Crane {n} of Pier {pier} was built by Tove Lund for Granite.\n" for n in range(24))
    for pier in range(1, 5)
)
_SEPARATE = "# Room {0}\n\nGranite {0} lies in the cellar of Room {0}.\n"


class Recording:
    """A deployment on loopback. ``calls`` are what its functions asked so far; ``names`` are the template's, by ours.

    The function named by ``fails`` ends without doing anything.
    """

    def __init__(self, templates: Templates, folder: Path) -> None:
        self.templates, self._folder, self._stack = templates, folder, ExitStack()
        self._file, self.names = folder / "calls.jsonl", dict[str, str]()
        self._running: dict[str, LambdaRuntime] = {}
        self._sequence, self.fails = 0, ""

    def __enter__(self) -> Self:
        enter = self._stack.enter_context
        try:
            self.neptune, self.vectors = enter(NeptuneStandIn()), enter(OpenSearchServer())
            models = _Models()
            self.bedrock = enter(BedrockServer(models))
            self.cloud = enter(Cloud({name: self._caller(name) for name in FUNCTIONS}))
            models.s3 = self.cloud.client("s3")
            self._make_places()
            arns = {name: self.cloud.arn(name) for name in FUNCTIONS}
            arn = enter(self.cloud.state_machine(definition(arns)))
            self.machine, self.names[arn] = arn, "<ingestion/Workflow>"
            self._begin()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def calls(self) -> list[Call]:
        """What was noted, names as in the templates."""
        lines = self._file.read_text("utf-8").splitlines()
        return [{k: self._named(k, v) for k, v in json.loads(line).items()} for line in lines]

    def invoke(self, name: str, event: Any) -> Any:
        """Call a function. Raise what it raises, by the name that Lambda tells."""
        answer = self._running[name].invoke(event)
        if answer.error:
            kind = str(answer.error["errorType"])
            raise type(kind, (Exception,), {})(answer.error.get("errorMessage", ""))
        return answer.reply

    # ------------------------------------------------------------ making it

    def _make_places(self) -> None:
        port, s3 = self.cloud.port, self.cloud.client("s3")
        self.places = {name: f"{name.lower()}-{port}" for name in ("Registry", "Started", "Documents", "Artefacts")}
        self.cloud.dynamodb(self.places["Registry"])
        self.cloud.client("dynamodb").create_table(
            TableName=self.places["Started"],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        for bucket in (self.places["Documents"], self.places["Artefacts"]):
            self.cloud.s3(bucket)
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        self.names |= {place: f"<data/{name}>" for name, place in self.places.items()}

    def _begin(self) -> None:
        """Start all functions, side by side."""
        ours = self.templates.functions
        with ThreadPoolExecutor(4) as pool:
            made = {
                job: pool.submit(LambdaRuntime(job, self.environment(job)).__enter__)
                for job, properties in ours.items()
                if not properties["Handler"].endswith(".sh")
            }
            for job, begun in made.items():
                self._running[job] = begun.result(120)
                self._stack.callback(self._running[job].__exit__, None, None, None)

    def environment(self, job: str) -> dict[str, str]:
        """Return the environment of a function as its template says, led to the stand-ins, and watched."""
        stated = self.templates.functions[job]["Environment"]["Variables"] if job in self.templates.functions else {}
        found = {name: self._resolved(value) for name, value in stated.items()}
        services = {"S3": self.cloud.url, "DYNAMODB": self.cloud.url, "SFN": self.cloud.url}
        models = dict.fromkeys(("BEDROCK", "BEDROCK_RUNTIME", "BEDROCK_AGENT_RUNTIME"), self.bedrock.url)
        return {
            **found,
            **ENVIRONMENT,
            **{f"AWS_ENDPOINT_URL_{name}": url for name, url in {**services, **models}.items()},
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "LEXIGRAPH_GRAPH_STORE": self.neptune.connection,
            "LEXIGRAPH_VECTOR_STORE": self.vectors.connection,
            "LEXIGRAPH_DATA": str(self._folder / job),
            "POWERTOOLS_LOG_LEVEL": "CRITICAL",
            "PYTHONPATH": os.pathsep.join((str(HOOK), str(ROOT))),
            "RIGHTS_FILE": str(self._file),
            "RIGHTS_OF": job,
        }

    def _resolved(self, text: str) -> str:
        def one(found: re.Match[str]) -> str:
            return self.machine if found[2] == "Workflow" else self.places.get(found[2], found[0])

        return REFERENCE.sub(one, text)

    def _named(self, field: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if field in ("input", "output", "source"):  # addresses of files
            bucket, _, key = value.removeprefix("s3://").partition("/")
            return f"s3://{self.names[bucket]}/{key}"
        return self.names.get(value, value)

    def _caller(self, name: str) -> Any:
        def call(event: Any) -> Any:
            if name == self.fails:
                raise ValueError("its process ended")
            return self.invoke(name, event)

        return call

    # ------------------------------------------------------------ what happens

    def event(self, name: str, **replaced: Any) -> dict[str, Any]:
        """Return a payload of ``events/`` with values replaced at its top level."""
        text = (EVENTS / f"{name}.json").read_text().replace("lexigraph-inbox", self.places["Documents"])
        return {**json.loads(text), **replaced}

    def put(self, text: str, key: str = _KEY) -> dict[str, Any]:
        """Put a file into the inbox and let `start` hear of it; return the execution when it has ended."""
        bucket = self.places["Documents"]
        told = self.cloud.client("s3").put_object(Bucket=bucket, Key=key, Body=text.encode())
        return self.told("start.created", key, **{"version-id": told["VersionId"]})

    def delete(self, key: str = _KEY) -> dict[str, Any]:
        """Delete a file from the inbox, likewise."""
        self.cloud.client("s3").delete_object(Bucket=self.places["Documents"], Key=key)
        return self.told("start.deleted", key)

    def told(self, name: str, key: str, **of_object: str) -> dict[str, Any]:
        """Give `start` a message about an object; return the execution that it begins, ended, else nothing."""
        self._sequence += 1
        payload = self.event(name)
        for record in payload["Records"]:
            body = json.loads(record["body"])
            body["detail"]["object"] |= {"key": key, "sequencer": f"{self._sequence:018X}", **of_object}
            record["body"] = json.dumps(body)
        before = self._executions()
        assert self.invoke("start", payload) == {"batchItemFailures": []}
        return self.ended(before)

    def run(self, **asked: Any) -> dict[str, Any]:
        """Have an operator begin an execution; return it when it has ended."""
        before, states = self._executions(), self.cloud.client("stepfunctions")
        states.start_execution(stateMachineArn=self.machine, name=f"by-hand-{len(before)}", input=json.dumps(asked))
        return self.ended(before)

    def _executions(self) -> set[str]:
        listed = self.cloud.client("stepfunctions").list_executions(stateMachineArn=self.machine)["executions"]
        return {e["executionArn"] for e in listed}

    def ended(self, before: set[str]) -> dict[str, Any]:
        """Return what began since then, ended."""
        new = sorted(self._executions() - before)
        return [self.cloud.ended(arn, 120) for arn in new][-1] if new else {}

    def ask(self, job: str, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Send a request to a function behind the gateway; return the reply."""
        asked = self.event(
            "query.query",
            path=path,
            resource=path,
            httpMethod=method,
            body=None if body is None else json.dumps(body),
            queryStringParameters=query or None,
            multiValueQueryStringParameters={name: [value] for name, value in query.items()} or None,
        )
        reply = self.invoke(job, asked)
        assert reply["statusCode"] < 300, (job, method, path, reply)
        return json.loads(reply["body"]) if reply["body"].startswith(("{", "[")) else reply["body"]

    @contextmanager
    def serving(self, job: str) -> Iterator[httpx.Client]:
        """Start a function that is a web server, as Lambda Web Adapter does."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("LEXIGRAPH_", "AWS_"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {"AWS_LWA_PORT": str(port), "LAMBDA_TASK_ROOT": str(ROOT), "PATH": path}
        script = ROOT / "functions" / "stream" / "run.sh"
        process = subprocess.Popen([script], env={**kept, **self.environment(job), **own}, cwd=ROOT)
        who = {"tenant": "default", "scopes": "read ingest admin", "key_id": "k", "databases": "[]", "rate": "0"}
        headers = {"X-Amzn-Request-Context": json.dumps({"authorizer": who})}
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=90) as client:
                _until_healthy(process, client)
                yield client
        finally:
            process.kill()
            process.wait(30)

    def command(self, *arguments: str, of: str = "", settings: str = "") -> str:
        """Run a command of `lexigraph` as a person; ``of`` is whose rights the person has, empty: an administrator's.

        ``settings`` names the function whose stores the person works with, empty: none but the cache.
        """
        environment = {**os.environ, **self.environment(settings or of or "authorize"), "RIGHTS_OF": of}
        if not of:
            environment.pop("RIGHTS_FILE")
        elif not settings:
            table, llm = f"dynamodb://{self.places['Registry']}", self.templates.functions["extract"]
            more = {"LEXIGRAPH_CACHE": table, "LEXIGRAPH_LLM": llm["Environment"]["Variables"]["LEXIGRAPH_LLM"]}
            environment = {k: v for k, v in environment.items() if not k.endswith("_STORE")} | more
        program = str(Path(sys.executable).with_name("lexigraph"))
        done = subprocess.run(
            [program, *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


class _Models:
    """Models of Bedrock that find in each passage what its lines say; jobs are done when they are asked for."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.s3: Any = None

    def __call__(self, operation: str, model: str, asked: dict[str, Any]) -> Any:
        if operation == "invoke":
            words = WordEmbedder().embed_passages([asked["inputText"]])[0].tolist()
            size = asked.get("dimensions", _DIMENSION)
            return {"embedding": (words + [0.0] * size)[:size], "inputTextTokenCount": 1}
        if operation == "model-invocation-job":
            if not asked:
                self._carry_out(model, self.jobs[model])
                return {"jobArn": model, "status": "Completed", "roleArn": "", "modelId": ""}
            arn = f"arn:aws:bedrock:{REGION}:123456789012:model-invocation-job/{len(self.jobs):012d}"
            self.jobs[arn] = asked
            return {"jobArn": arn}
        if operation == "converse-stream":
            return streamed(_ANSWER.split(" "))
        if "toolConfig" not in asked:
            return message(_ANSWER)
        (tool,) = (one["toolSpec"] for one in asked["toolConfig"]["tools"])
        text = asked["messages"][0]["content"][0]["text"]
        return tool_use(tool["name"], _reply(tool["inputSchema"]["json"], text))

    def _carry_out(self, arn: str, job: Mapping[str, Any]) -> None:
        """Write the output of a job of batch inference."""
        given = job["inputDataConfig"]["s3InputDataConfig"]["s3Uri"], job["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"]
        (bucket, _, key), (_, _, to) = (uri.removeprefix("s3://").partition("/") for uri in given)
        lines = []
        for line in self.s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode().splitlines():
            record = json.loads(line)
            found = _reply(REPLY, record["modelInput"]["messages"][0]["content"][0]["text"])
            lines.append(json.dumps({**record, "modelOutput": message(json.dumps(found))}))
        at = f"{to}{arn.rpartition('/')[2]}/{key.rpartition('/')[2]}.out"
        self.s3.put_object(Bucket=bucket, Key=at, Body="\n".join(lines).encode())


def _reply(schema: Mapping[str, Any], text: str) -> Any:
    if "topics" not in schema.get("properties", {}):
        return _filled(schema)
    found = []
    for line in text.partition("Passage:\n")[2].splitlines():
        names = re.findall(r"[A-Z]\w+(?: [A-Z]\w+| \d+)*", line)
        if line.endswith(".") and len(names) > 1:
            named = [{"name": name, "class": "Thing"} for name in names]
            fact = {"subject": names[0], "predicate": "is linked to", "object": names[-1]}
            found.append({"statement": line, "details": [], "entities": named, "facts": [fact]})
    return {"topics": [{"title": "Harbour", "statements": found}], "aliases": []}


def _filled(schema: Mapping[str, Any]) -> Any:
    """Return the least that a schema takes."""
    kind = schema.get("type")
    if kind == "object":
        return {name: _filled(inner) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return []
    if "enum" in schema:
        return schema["enum"][0]
    return {"string": "Granite", "boolean": True}.get(str(kind), 0)


def _until_healthy(process: "subprocess.Popen[bytes]", client: httpx.Client) -> None:
    deadline = time.monotonic() + 90
    while True:
        assert process.poll() is None, "the server ended"
        assert time.monotonic() < deadline, "the server does not answer"
        with suppress(httpx.TransportError):
            if client.get("/health").status_code == 200:
                return
        time.sleep(0.1)


# ---------------------------------------------------------------- the tour


def record(templates: Templates, folder: Path) -> list[Call]:
    """Have all functions do what they do; return what they asked of AWS."""
    with Recording(templates, folder) as made:
        take_in(made)
        ask(made)
        stream(made)
        curate(made)
        maintain(made)
        take_out(made)
        hand_over(made)
        try_out(made)
        return made.calls


def take_in(made: Recording) -> None:
    """Files come, one of them changes, one cannot be read; a key is made and let in, another is not."""
    assert made.put(_HARBOUR + _SECTIONS)["status"] == "SUCCEEDED"
    assert made.put(_SEPARATE.format(7), "default/default/room.md")["status"] == "SUCCEEDED"
    assert made.put((_HARBOUR + _SECTIONS).replace("Granite", "Basalt"))["status"] == "SUCCEEDED"
    assert made.put("%PDF-1.7 is nothing", "default/default/broken.pdf")
    made.fails = "extract"
    assert made.put(_SEPARATE.format(8), "default/default/lost.md")["status"] == "FAILED"
    made.fails = ""
    secret = made.command("keys", "create").split()[-1]
    for sent, effect in ((secret, "Allow"), ("lxk_00000000_nobody", "Deny")):
        reply = made.invoke("authorize", made.event("authorize", headers={"X-API-Key": sent}))
        assert reply["policyDocument"]["Statement"][0]["Effect"] == effect


def ask(made: Recording) -> None:
    """`query` is asked for all that it answers: every route that reads, every retriever."""
    paths = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))["paths"]
    asked = {"question": "Who built Basalt?"}
    (choice,) = paths["/retrieve/{retriever}"]["post"]["parameters"]
    for retriever in choice["schema"]["enum"]:
        made.ask("query", "POST", f"/retrieve/{retriever}", asked)
        made.ask("query", "POST", "/query", {**asked, "retriever": retriever, "evidence": True})
    for _ in range(2):
        made.ask("query", "POST", "/api/v1/memory/recall", {"query": "Basalt", "session_id": "s"})
    hops = {"query": asked["question"], "namespace": "default", "db_name": "default_db"}
    made.ask("query", "POST", "/unstructured/multihop_query/", hops)
    made.ask("query", "POST", "/query/multidoc", asked)
    made.ask("query", "POST", "/ranking/preview", asked)
    found = made.ask("query", "POST", "/query", asked)
    entity = made.ask("query", "GET", "/entities", q="Basalt")["entities"][0]["id"]
    known = {
        "document_id": made.ask("query", "GET", "/documents")["documents"][0]["id"],
        "entity_id": entity,
        "job_id": made.ask("query", "GET", "/jobs")["jobs"][0]["id"],
        "statement_id": _statement(made),
        "id": entity,
        "q": "Basalt",
    }
    assert found["references"] or found["sources"]
    for path, methods in paths.items():
        if "get" not in methods or path in ("/ingest/stream", "/keys", "/jobs/{job_id}/events"):
            continue
        needed = [p for p in methods["get"].get("parameters", ()) if p.get("required")]
        made.ask("query", "GET", path.format(**known), **{p["name"]: known[p["name"]] for p in needed if p["in"] == "query"})


def _statement(made: Recording) -> str:
    reply = made.ask("query", "POST", "/retrieve/chunk", {"question": "Who built Basalt?"})
    return str(re.findall(r"statement:[0-9a-f]+", json.dumps(reply))[0])


def stream(made: Recording) -> None:
    """What is streamed: an answer, an agent's tools, the events of a job, and new chunks related to others."""
    with made.serving("stream") as client:
        for retriever in ("hybrid", "traversal"):
            asked = {"question": "Who built Basalt?", "stream": True, "retriever": retriever}
            assert "data:" in client.post("/query", json=asked).text
        job = made.ask("query", "GET", "/jobs")["jobs"][0]["id"]
        assert client.get(f"/jobs/{job}/events").status_code == 200
        accept = {"Accept": "application/json, text/event-stream"}
        call = {"name": "hm_recall", "arguments": {"query": "Basalt"}}
        for at, (method, params) in enumerate((("tools/list", {}), ("tools/call", call))):
            told = {"jsonrpc": "2.0", "id": at, "method": method, "params": params}
            reply = client.post("/mcp", json=told, headers=accept)
            assert reply.status_code == 200 and '"isError":true' not in reply.text, reply.text
    with made.serving("follow") as client:
        path, before = f"s3://{made.places['Documents']}/{_KEY}", made._executions()
        related = {"path": path, "inc_rel_only": "true", "detect_after": "true", "new_count": "1"}
        assert "data:" in client.get("/ingest/stream", params=related).text
        assert "data:" in client.get("/ingest/stream", params={"path": path}).text
        made.ended(before)


def curate(made: Recording) -> None:
    """Names are merged, after somebody died who was about to, and told apart again; a name is added that no text has."""
    for key in ("curation", "collector"):
        leave_a_lease(made, key)
    for asked in (
        {"name": "Harbour Office", "others": ["Tove Lund"]},
        {"kind": "alias", "name": "Basalt", "others": ["B2"]},
    ):
        decision = made.ask("curate", "POST", "/curation/decisions", asked)
        made.ask("curate", "DELETE", f"/curation/decisions/{decision['id']}")


def leave_a_lease(made: Recording, key: str) -> None:
    """Have a lease lie there that a dead writer held."""
    dead = {"pk": f"t#default#lease#{key}", "sk": "lease", "holder": "dead"}
    item = {**{name: {"S": value} for name, value in dead.items()}, "until": {"N": "0"}}
    made.cloud.client("dynamodb").put_item(TableName=made.places["Registry"], Item=item)


def maintain(made: Recording) -> None:
    """What operators have the state machine do: compare the stores, bring records to another embedding and drop it."""
    s3 = made.cloud.client("s3")
    left = {"Bucket": made.places["Artefacts"], "Key": f"documents/default/source:{'9' * 32}/text.1"}
    s3.put_object(**left, Body=b"left")
    for repair in (False, True):
        given = {**made.event("remove.check")["check"], "seconds": 0, "repair": repair}
        assert made.run(action="check", check=given)["status"] == "SUCCEEDED"
    to = {"model": _TITAN, "dimension": _OTHER}
    label = f"{_TITAN.replace('bedrock:', 'bedrock-').replace('.', '-').replace(':', '-')}-{_OTHER}"
    for asked in (to, {"from": label, "drop_old": True}):
        done = made.run(action="reembed", reembed={"seconds": 0, **asked})
        assert done["status"] == "SUCCEEDED", done
    assert made.run(action="reembed", reembed={"seconds": 0})["status"] == "FAILED"  # it is the one in use
    ended = made.event("finish.ended")
    ended["detail"]["input"] = json.dumps({"action": "reembed", "reembed": {"seconds": 0}})
    made.invoke("finish", ended)


def take_out(made: Recording) -> None:
    """Documents go: by the API under the lease of a dead writer, by their file; what late writers left goes after them."""
    listed = made.ask("query", "GET", "/documents")["documents"]
    harbour, room = (next(d["id"] for d in listed if d["uri"].endswith(name)) for name in ("harbour.md", "room.md"))
    leave_a_lease(made, room)
    table, client = made.places["Registry"], made.cloud.client("dynamodb")
    before = made._executions()
    made.ask("manage", "DELETE", f"/documents/{room}")
    assert made.ended(before)["status"] == "SUCCEEDED"
    assert made.delete()["status"] == "SUCCEEDED", harbour
    for late in (one for one in made.cloud.items(table) if one["pk"]["S"] == "system#late"):
        tenant, _, token = late["sk"]["S"].split("#")
        client.put_item(TableName=table, Item={**late, "sk": {"S": f"{tenant}#{0:020d}#{token}"}})
        client.delete_item(TableName=table, Key={name: late[name] for name in ("pk", "sk")})
    made.invoke("remove", made.event("remove.tend"))


def hand_over(made: Recording) -> None:
    """What clients hand over by `manage`, and what people do: estimates, clearing the cache, batches for Bedrock."""
    for name in ("manage.upload", "manage.upload_url", "manage.ingest"):
        reply = made.invoke("manage", made.event(name))
        assert reply["statusCode"] < 300, reply
    made.ask("manage", "POST", "/estimate", {"text": _HARBOUR})
    made.ask("manage", "POST", "/cache/clear")
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder, "pages")
        pages.mkdir()
        rooms = [json.dumps({"id": str(n), "text": f"Room {n} holds Granite {n}."}) for n in range(100)]
        (pages / "rooms.jsonl").write_text("\n".join(rooms))
        batches, place = f"{folder}/batches", f"s3://{made.places['Artefacts']}/bulk?region={REGION}"
        made.command("bulk", "prepare", str(pages), "--out", batches, of=PEOPLE)
        made.command("bulk", "submit", batches, "--to", place, "--role", "<ingestion/BulkRole>", of=PEOPLE)
        made.command("bulk", "collect", batches, of=PEOPLE)
        inbox, given = f"s3://{made.places['Documents']}", ("--out", f"{folder}/load", "--to", place, "--json")
        told = made.command("bulk", "load", str(pages), *given, "--inbox", inbox, of=PEOPLE, settings="build")
        load(made, json.loads(told)["source"])


def load(made: Recording, source: str) -> None:
    """The graph's own loader takes in what lies in the bucket."""
    made.neptune.loader = Loader(made.cloud.client("s3"), LOADER, REGION, lambda: made.neptune.graph)
    asked = {"source": source, "role": LOADER}
    for _ in range(20):
        asked = made.invoke("build", {"action": "load", "load": asked})
        if asked["at"]["part"] == "done":
            return
    raise AssertionError(f"the load does not end: {asked}")


def try_out(made: Recording) -> None:
    """Functions probe what they depend on, as `make smoke` has them; IAM refuses who would write a key."""
    for job, groups in PLAN:
        for group in groups:
            refusing = made.cloud.failing("TransactWriteItems", "AccessDeniedException")
            with refusing if group == "registry.refused" else nullcontext():
                found = made.invoke(job, {"probe": {"groups": [group]}})["results"]
            # no Gremlin Server is there
            assert not [r for r in found if r["status"] == "failed" and r["name"] != "graph.walks"], (job, group, found)


def main() -> None:
    """Print the calls that were noted, from the assembly in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        for call in record(Templates(Path(sys.argv[1])), Path(folder)):
            print(json.dumps(call))  # what it is for


if __name__ == "__main__":
    main()
