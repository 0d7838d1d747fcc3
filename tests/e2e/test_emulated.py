"""``make emulate``: the templates deployed to an emulator of AWS, and what comes of it from upload to answer."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS, END_SECONDS = 270.0, 25.0


@pytest.mark.nightly
@pytest.mark.requirement("U-03", "U-05", "U-06")
def test_the_emulated_deployment_answers_from_what_lies_in_the_bucket() -> None:
    if not shutil.which("npm"):
        pytest.skip("the CDK that deploys comes by npm, which is not installed")
    command = ["make", "--no-print-directory", "emulate"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LEXIGRAPH_", "MAKE", "MFLAGS"))}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as made:
        try:
            said, _ = made.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(made.pid, signal.SIGTERM)
            said, _ = made.communicate(timeout=END_SECONDS)
            pytest.fail(f"make emulate took more than {SECONDS:.0f} s:\n{said[-4_000:]}")
    assert made.returncode == 0, said[-8_000:]
    assert re.search(r"#harbour-bell .*\[S\d+\]", said)
    assert re.search(r"#copper-lantern .*\[S\d+\]", said)
    assert re.search(r"^ *\d+\.\d s  the explorer loaded without a key$", said, re.MULTILINE)
    assert re.search(r"^ *\d+\.\d s  an answer as a stream$", said, re.MULTILINE)
    assert re.search(r"^ *\d+\.\d s  two names merged, and told apart again$", said, re.MULTILINE)
    assert "Nightjar Runbook is an alias of Tidewater" in said
    assert re.search(r"^ *\d+\.\d s  all deleted$", said, re.MULTILINE)
    assert re.search(r"^ *\d+\.\d s  cdk deploy$", said, re.MULTILINE)
    found = re.findall(r"^(ok|failed|skipped) +(build|extract|query|remove) +([a-z.]+) ", said, re.MULTILINE)
    assert {status for status, _, _ in found} == {"ok", "skipped"}
    tried = {f"{job} {name}" for status, job, name in found if status == "ok"}
    wanted = ("build registry.transaction", "extract registry.cache", "query graph.queries", "build vectors.update")
    assert tried >= {*wanted, "remove graph.remove"}
    assert re.search(r"^ *\d+\.\d s  in all$", said, re.MULTILINE)
