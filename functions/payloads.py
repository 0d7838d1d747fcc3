"""What the functions are sent: models of the events. One example of each lies in ``events/``."""

from typing import Any, Literal

from aws_lambda_powertools.utilities.parser import BaseModel
from aws_lambda_powertools.utilities.parser.models import S3EventNotificationEventBridgeModel, SqsRecordModel
from pydantic import ConfigDict, Field, Json

from lexigraph.ingestion.upkeep.reembed_progress import Place as ReembedPlace
from lexigraph.ingestion.upkeep.reembed_progress import ReembedReport
from lexigraph.ingestion.upkeep.repair import Place
from lexigraph.ingestion.workflow.aws import Object
from lexigraph.ingestion.workflow.file_run import FileRun
from lexigraph.model.ids import content_hash


class Run(BaseModel):
    """A file on its way in, as :class:`lexigraph.ingestion.workflow.file_run.FileRun`."""

    tenant: str
    namespace: str
    uri: str
    type: str
    job_id: str
    order: str
    fresh: bool = False
    relations: bool = True
    refresh: bool = False

    def file_run(self) -> FileRun:
        """Return it as the steps take it."""
        return FileRun.of(self.model_dump())


class Removal(BaseModel):
    """Documents to take out, whatever file they came from."""

    tenant: str
    job_id: str
    source_ids: list[str]


class Relation(BaseModel):
    """A document whose new chunks are to be related to others: ``what`` are the fields of ``NewChunks``."""

    tenant: str
    job_id: str
    source_id: str
    what: dict[str, Any]


class ReembedJob(BaseModel):
    """Whose records are embedded by another model, and the name of the execution that does it."""

    tenant: str = "default"
    execution: str = ""

    @property
    def job_id(self) -> str:
        """Its job: the same for each call of an execution, whichever comes first."""
        return content_hash("reembed", self.execution)[:32]


class Reembed(ReembedJob):
    """What an operator asks of `lexigraph reembed`, and beyond that how far the calls before have come.

    ``model``: the new one, empty for that of the functions; ``from``: the label to come from, empty for theirs. A call takes
    about so many ``seconds``; ``at`` is where the next one goes on, and "done" in the end. ``report`` is the sum so far.
    """

    model_config = ConfigDict(populate_by_name=True)

    model: str = ""
    dimension: int | None = None
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)
    from_: str = Field("", alias="from")
    drop_old: bool = False
    seconds: float = Field(default=600, ge=0, le=600)
    at: ReembedPlace = ReembedPlace()
    report: ReembedReport | None = None


class LoadPlace(BaseModel):
    """How far a load is: ``part`` is "done" in the end."""

    part: Literal["begin", "loading", "done"] = "begin"


class Load(BaseModel):
    """What an operator asks of Neptune's bulk loader, and beyond that how far it is.

    ``source`` is where `lexigraph bulk load --inbox` put files, ``role`` the output LoadRole. ``anew`` loads all once more,
    after a load that failed because nodes had gone. ``load_ids`` are Neptune's jobs, ``records`` the rows so far.
    """

    source: str = Field(pattern=r"^s3://[a-z0-9.-]+/\S+/$")
    role: str
    parallelism: Literal["LOW", "MEDIUM", "HIGH", "OVERSUBSCRIBE"] = "MEDIUM"
    anew: bool = False
    load_ids: list[str] = Field(default_factory=list)
    status: str = ""
    records: int = 0
    at: LoadPlace = LoadPlace()


class Failure(BaseModel):
    """What the state machine caught."""

    model_config = ConfigDict(populate_by_name=True)

    error: str = Field(alias="Error")
    cause: str = Field("", alias="Cause")


class ParseEvent(BaseModel):
    """Input of `parse`."""

    run: Run
    object: Object


class ChunkEvent(BaseModel):
    """Input of `chunk`."""

    run: Run
    everything: bool = False


class ExtractEvent(BaseModel):
    """Input of `extract`: an item of the map."""

    run: Run
    batch: int


class BuildEvent(BaseModel):
    """Input of `build`: a part of a run, what is to be related, whose records to embed by another model, or what to load."""

    run: Run | None = None
    part: int = 0
    relation: Relation | None = None
    reembed: Reembed | None = None
    load: Load | None = None


class Workflow(BaseModel):
    """Input of the state machine."""

    run: Run | None = None
    removal: Removal | None = None
    relation: Relation | None = None
    reembed: ReembedJob | None = None


class Ended(BaseModel):
    """What Step Functions tells of an execution that did not succeed."""

    name: str = ""
    status: Literal["FAILED", "TIMED_OUT", "ABORTED"]
    input: Json[Workflow]
    error: str | None = None


class FinishEvent(Workflow):
    """Input of `finish`: a part to show; without one the run to close; with an error or a detail what to record."""

    detail: Ended | None = None
    part: int | None = None
    error: Failure | None = None


class Check(BaseModel):
    """A comparison of a tenant's stores: what an operator asks, and beyond that what the calls before have found.

    ``repair`` puts right what is found. Of all tenants, ``*``, it is only looked at whether their documents are embedded by
    the model in use, or by that of the label ``embedding``; of one, where a label is given. A call takes about so many
    ``seconds``; ``at`` is where the next one goes on, and "done" in the end. ``problems`` counts all that was found by what
    is wrong, ``findings`` are the first of them.
    """

    tenant: str = "default"
    repair: bool = False
    embedding: str = ""
    seconds: float = Field(default=600, ge=0, le=600)
    at: Place = Place()
    problems: dict[str, int] = Field(default_factory=dict)
    findings: list[dict[str, Any]] = Field(default_factory=list)


class RemoveEvent(BaseModel):
    """Input of `remove`: a run for a file that is gone, or documents; what a schedule tells (`tend`); a comparison."""

    action: Literal["remove", "tend", "check"] = "remove"
    run: Run | None = None
    removal: Removal | None = None
    check: Check = Check()


class ObjectMessage(SqsRecordModel):
    """A message of the queue: an event of S3 that came over EventBridge."""

    body: Json[S3EventNotificationEventBridgeModel]


class AuthorizerEvent(BaseModel):
    """A request to be let in."""

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["REQUEST"]
    method_arn: str = Field(alias="methodArn")
    headers: dict[str, str] | None = None
