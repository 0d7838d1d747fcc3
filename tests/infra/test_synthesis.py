"""Synthesis: clean by the rules of cdk-nag and cfn-lint, the same each time, and refusing what makes no sense."""

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from infra.layers import Layer
from infra.settings import PROFILES
from infra.state_machine import FUNCTIONS, definition
from tests.infra.conftest import PROFILE_NAMES
from tests.infra.templates import Templates

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "profile",
    ["dev", *(pytest.param(p, marks=pytest.mark.nightly) for p in (*PROFILE_NAMES, "chosen", "placed") if p != "dev")],
)
def test_templates_are_clean_by_the_rules_of_cfn_lint_and_cdk_nag(synthesized: Callable[[str], Path], profile: str) -> None:
    from infra.synth import lint

    out = synthesized(profile)  # fails on a rule of AwsSolutions that is neither kept nor acknowledged
    assert lint(out) == ""


@pytest.mark.nightly
@pytest.mark.parametrize(
    "profile", [pytest.param(name, marks=[] if name == "emulated" else pytest.mark.soak) for name in PROFILE_NAMES]
)
def test_a_second_synthesis_is_identical(synthesized: Callable[[str], Path], tmp_path: Path, profile: str) -> None:
    from infra.synth import synthesize

    first = synthesized(profile)
    second = synthesize(profile, tmp_path / "again")
    began = (first / "manifest.json").stat().st_mtime - 60
    sources = [
        f for name in ("infra", "functions", "layers") for f in (ROOT / name).rglob("*.*") if "__pycache__" not in f.parts
    ]
    if any(f.stat().st_mtime > began for f in sources):
        pytest.skip("somebody changed the sources meanwhile")
    for kind in ("*.template.json", "*.assets.json"):
        names = sorted(path.name for path in first.glob(kind))
        assert names == sorted(path.name for path in second.glob(kind))
        for name in names:
            assert (first / name).read_bytes() == (second / name).read_bytes(), name


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_the_template_holds_the_workflow_as_it_is_written_with_every_null(
    templates: Callable[[str], Templates], profile: str
) -> None:
    found = templates(profile)
    arns = {job: f"<ingestion/{job.title()}>" for job in FUNCTIONS}
    (machine,) = found.of("StepFunctions::StateMachine")
    told = json.loads(machine.properties["DefinitionString"])
    assert told == definition(arns, concurrency=PROFILES[profile].concurrency)
    assert told["States"]["Close"]["ResultPath"] is None


@pytest.mark.requirement("U-01")
def test_what_makes_up_a_deployment_lies_at_the_top_and_becomes_one_application(
    templates: Callable[[str], Templates],
) -> None:
    for name in ("cdk.json", "pyproject.toml", "README.md", "infra", "functions", "layers", "tests", "events"):
        assert (ROOT / name).exists(), name
    stacks = {"data", "network", "graph", "vector", "ingestion", "api", "observability"}
    assert templates("dev").raw.keys() == templates("prod").raw.keys() == stacks
    assert templates("emulated").raw.keys() == stacks - {"network", "graph", "vector"}
    code = {p["Code"]["S3Key"] for p in templates("dev").functions.values()}
    assert len(code) == 1


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_no_stack_exports_what_a_release_changes(templates: Callable[[str], Templates], profile: str) -> None:
    """CloudFormation changes no export that another stack imports: a deployment would stop there."""
    found = templates(profile)
    changing = ("AWS::Lambda::LayerVersion", "AWS::Lambda::Version", "AWS::ApiGateway::Deployment")
    exported = [
        (stack, output["Value"])
        for stack, template in found.raw.items()
        for output in template.get("Outputs", {}).values()
        if "Export" in output
    ]
    assert exported
    for stack, value in exported:
        ((_, of),) = value.items()
        name = of if isinstance(of, str) else of[0]
        assert found.raw[stack]["Resources"][name]["Type"] not in changing, name


@pytest.mark.nightly
def test_a_changed_layer_gives_functions_with_a_snapshot_a_new_version(tmp_path: Path) -> None:
    if find_spec("aws_cdk") is None or shutil.which("node") is None:
        pytest.skip("needs the CDK: make synth installs it, and Node has to be there")
    import aws_cdk as cdk

    from infra.constructs.function import Function
    from infra.deployment import Deployment
    from infra.stacks.data import DataStack

    def versions(text: str) -> set[str]:
        built = Layer(tmp_path / text)
        (built.folder / "python").mkdir(parents=True)
        (built.folder / "python" / "core.py").write_text(text, "utf-8")
        context = json.loads((ROOT / "cdk.json").read_text("utf-8"))["context"]
        app = cdk.App(context=context, outdir=str(tmp_path / f"out-{text}"))
        stack, prod = cdk.Stack(app, "some"), PROFILES["prod"]
        deployment = Deployment(prod, {"core": built}, DataStack(app, "data", prod))
        assert Function(stack, "query", deployment, memory=512, seconds=1, snap_start=True).target
        template = json.loads((Path(app.synth().directory) / "some.template.json").read_text("utf-8"))
        return {name for name, r in template["Resources"].items() if r["Type"] == "AWS::Lambda::Version"}

    first, second = versions("one"), versions("two")
    assert len(first) == len(second) == 1
    assert first != second


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"StartAt": "Nowhere"}, "Missing 'Next' target 'Nowhere'"),
        ({"States": {"Which": {"Type": "Tusk", "End": True}}}, "Tusk"),
        ({"States": {"Which": {"Type": "Task", "End": True}}}, "Resource"),
    ],
)
def test_a_state_machine_that_is_not_in_its_language_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: dict[str, object], says: str
) -> None:
    from infra import synth

    (tmp_path / "empty.template.json").write_text(json.dumps({"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}))
    whole = synth.definition
    monkeypatch.setattr(synth, "definition", lambda arns: {**whole(arns), **broken})
    assert says in synth.lint(tmp_path)
