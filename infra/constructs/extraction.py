"""The extraction file of a deployment: a layer of one file, so that functions need no right to read it anywhere."""

from pathlib import Path

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.layers import ROOT
from infra.settings import Profile
from lexigraph.ingestion.extract.guide import read_guide
from lexigraph.model.ids import content_hash

_NAME = "extraction.json"  # the core layer has no PyYAML
_SETTING = "LEXIGRAPH_EXTRACTION_FILE"


def extraction(scope: Construct, profile: Profile) -> tuple[list[lambda_.ILayerVersion], dict[str, str]]:
    """Return the layer and the environment of a function that extracts, or tells what that would cost.

    Both are empty where the profile has no extraction file. An emulator runs functions as processes of the host, which read
    the file where it was made.
    """
    if not profile.extraction_file:
        return [], {}
    told = read_guide(Path(profile.extraction_file)).model_dump_json()
    folder = ROOT / ".build" / "extraction" / content_hash(told)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _NAME).write_text(told, "utf-8")
    if not profile.aws:
        return [], {_SETTING: str(folder / _NAME)}
    layer = lambda_.LayerVersion(scope, "Extraction", code=lambda_.Code.from_asset(str(folder)))
    return [layer], {_SETTING: f"/opt/{_NAME}"}
