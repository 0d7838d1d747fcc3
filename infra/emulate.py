"""Deploys the emulated profile to an emulator on loopback and drives it from upload to answer: ``make emulate``.

    python -m infra.emulate

ministack, in an environment of its own, stands for AWS; the templates are those of ``infra.synth``, the CDK of
``package.json`` deploys them, and the functions run as processes of this machine, with graph and vectors in SQLite files.
The explorer is loaded (``make emulate`` builds it). Three documents are dropped into the bucket, one is replaced, one
deleted; each time a question is asked through the API (``infra/live/drive.py``). Then the functions probe what they depend
on, as ``make smoke`` has them do in an account.
Each step prints its seconds. When one fails, what the state machine and the functions said is printed, and the exit code
is 1. Nothing stays behind.
"""

import json
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from infra.emulator import ACCOUNT, REGION, Emulator
from infra.layers import ROOT
from infra.live import probing
from infra.live.drive import TENANT, Deployment, Place, drive, end
from infra.live.told import Failed, check, say, step
from infra.synth import synthesize

# how often each function does its step for that: `finish` shows what was built, and closes the run
STEPS = {"parse": 4, "chunk": 4, "extract": 4, "build": 4, "finish": 8, "remove": 1}
NAME = "lexigraph-emulated"
_CDK = str(ROOT / "node_modules" / ".bin" / "cdk")
_QUIET = ("--no-notices", "--ci", "--progress", "events")
_DEPLOY_SECONDS, _CALL_SECONDS = 240.0, 60.0


def deploy(emulator: Emulator, folder: Path) -> Deployment:
    """Synthesize the profile, and deploy its templates as they are."""
    bootstrap = (_CDK, "bootstrap", f"aws://{ACCOUNT}/{REGION}", *_QUIET)
    with step("synthesize the emulated profile, and cdk bootstrap beside it"), ThreadPoolExecutor(1) as beside:
        strapped = beside.submit(emulator.run, *bootstrap, seconds=_DEPLOY_SECONDS, cwd=folder)
        assembly = synthesize("emulated", folder / "cdk.out", data=str(folder / "data"))
        strapped.result()
    outputs = folder / "outputs.json"
    with step("cdk deploy"):
        options = ("--all", "--require-approval", "never", "--outputs-file", str(outputs), "--concurrency", "3")
        emulator.run(_CDK, "deploy", "--app", str(assembly), *options, *_QUIET, seconds=_DEPLOY_SECONDS, cwd=folder)
    found = {name: value for stack in json.loads(outputs.read_text("utf-8")).values() for name, value in stack.items()}
    url = urlsplit(found["Url"])  # as AWS would have it; the emulator takes API and stage from the path
    api = f"{emulator.url}/restapis/{url.netloc.partition('.')[0]}/{url.path.strip('/')}/_user_request_"
    registry = f"dynamodb://{found['RegistryTable']}?region={REGION}&endpoint={emulator.url}"

    def keys(*arguments: str) -> str:
        program = str(Path(sys.executable).with_name("lexigraph"))
        command = (program, "--tenant", TENANT, "keys", *arguments)
        return emulator.run(*command, seconds=_CALL_SECONDS, cwd=folder, LEXIGRAPH_REGISTRY=registry)

    return Deployment(emulator, Place(api, found["DocumentsBucket"], found["RegistryTable"], found["StateMachine"]), keys)


def probe(emulator: Emulator) -> None:
    """Have the functions probe what they depend on."""
    with step("functions probe what they depend on"):
        rows = list(probing.probe(emulator, NAME, aws=False))
    probing.show(rows)
    check(not any(row.status == "failed" for row in rows), "a probe failed")


def count(emulator: Emulator) -> None:
    """See that each function has done its step as often as there was something to do, as the metrics say."""
    ran = {job: emulator.logged(f"/lexigraph/emulated/{job}", f'"{job.title()}Done"') for job in STEPS}
    say(f"          steps done: {', '.join(f'{job} {times}' for job, times in ran.items())}")
    check(ran == STEPS, f"steps done: {ran}, not {STEPS}")


def main() -> int:
    """Return 0 when all went well."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is stopped
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lexigraph-emulated-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        try:
            with step("start the emulator"):
                emulator = Emulator(folder)
            with emulator:
                try:
                    deployed = deploy(emulator, folder)
                    with deployed.keyed():
                        drive(deployed)
                        count(emulator)
                        probe(emulator)
                        end(deployed)
                except Exception:
                    say(emulator.told())
                    raise
        except (Failed, RuntimeError, OSError) as error:
            sys.stderr.write(f"emulate: {error}\n")
            return 1
    say(f"{time.monotonic() - began:6.1f} s  in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
