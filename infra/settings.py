"""What a deployment is: the profiles, and what the command line may change of them with ``-c name=value``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from infra.hours import Hours
from lexigraph.ingestion.extract.guide import read_guide
from lexigraph.model.errors import Misconfigured
from lexigraph.settings import KNOWN_DIMENSIONS

ProfileName = Literal["dev", "prod", "emulated"]


@dataclass(frozen=True)
class Profile:
    """A kind of deployment. Money is in US dollars, memory in MB."""

    name: ProfileName
    # where and by what name
    suffix: str = ""  # of all names that are fixed, for several deployments in an account and region; `-c name=...`
    boundary: str = ""  # of all roles: the ARN of a policy, or its name in this account
    qualifier: str = ""  # of the bootstrap stack of the CDK; empty: its own
    protect: bool = False  # stacks cannot be deleted before that is turned off
    # who asks, and by what name
    iam: bool = False  # a second address, for who signs with IAM
    iam_accounts: str = ""  # other accounts whose roles may sign, with commas between
    domain: str = ""  # of the API, with a certificate of ACM in this region
    certificate: str = ""
    api_endpoints: str = ""  # ids of endpoints of `execute-api`, by which alone the API is reached; empty: it is public
    # a network that is there already; empty: one of its own. Lists have commas between
    vpc: str = ""
    subnets: str = ""  # two or more, in different zones
    route_tables: str = ""  # of these subnets: one for all, or one each; with endpoints of our own
    endpoints: str = "own"  # `existing`: those of S3, DynamoDB and Bedrock are there
    collections_endpoint: str = ""  # the id of that of `aoss-data`, where it is there, too
    # stores
    neptune_version: str = "1.4.8.0"  # before, Gremlin could fail near the least capacity
    neptune_min: float = 1.0  # capacity units, the least that Neptune Serverless lets one have
    neptune_max: float = 4.0
    neptune_readers: int = 0
    neptune_hours: str = ""  # in which it runs, as "Mon-Fri 08:00-19:00 Europe/Berlin"; empty: always
    vector_units: int = 4  # OpenSearch capacity units at most, of indexing and of search each
    vector_indexes: int = 1  # of a kind, among which tenants are divided; fixed when the collection is first written
    backup_days: int = 7
    keep_data: bool = False  # a deleted stack leaves buckets, table, graph and vectors
    zones: str = ""  # names of two availability zones with a comma between; empty: the first two of the region
    endpoint_zones: int = 1  # of these two that have interface endpoints
    # functions
    concurrency: int = 3  # batches of chunks of a file extracted at the same time
    reserve: int = 0  # environments of `extract` and of `build`, each, whatever is ingested; 0: as many as Lambda gives
    snap_start: bool = False  # of functions that somebody waits for
    log_days: int = 14
    # models
    embedding_model: str = "bedrock:amazon.titan-embed-text-v2:0"
    next_embedding_model: str = ""  # of Bedrock, which `build` may ask, too, to bring records over to it
    llm: str = "bedrock:global.anthropic.claude-haiku-4-5-20251001-v1:0"
    rerank_model: str = "none"  # of Bedrock, that questions with `"reranker": "bedrock"` ask
    extraction_file: str = ""  # path of a YAML file of classes, relations, instructions and examples for `llm`
    # operation
    web_firewall: bool = False
    tracing: bool = False  # spans of what functions do, as subsegments of X-Ray
    budget: int = 300
    tags: str = ""  # of all that can change its tags, as "team=search,cost-centre=4711"
    alarm_email: str = ""
    data: str = ""  # folder of the embedded stores, of the emulated profile

    @property
    def aws(self) -> bool:
        """Whether it is for AWS; on an emulator the stores are embedded, and the functions run by the host's Python."""
        return self.name != "emulated"

    @property
    def id(self) -> str:
        """What tells it from the others of an account and region, as ``dev`` or ``dev-team-a``."""
        return f"{self.name}-{self.suffix}" if self.suffix else self.name

    @property
    def prefix(self) -> str:
        """How all begins that has a fixed name, as ``lexigraph-dev``."""
        return f"lexigraph-{self.id}"

    def stack(self, part: str) -> str:
        """Return the name of the stack of a part, such as ``api``; the only place that makes one."""
        return f"{self.prefix}-{part}"

    @property
    def reranks(self) -> bool:
        """Whether a model of Bedrock may be asked to rerank."""
        return self.rerank_model != "none"

    def models(self, job: str) -> tuple[str, ...]:
        """Return the models that a function may ask, of those that it asks any: `build` alone also the next one."""
        coming = (self.next_embedding_model,) if job == "build" and self.next_embedding_model else ()
        return (self.embedding_model, self.llm, *coming)

    @property
    def of_bedrock(self) -> list[str]:
        """The ids of the models of Bedrock that functions ask, but for one that reranks."""
        asked = (spec.partition(":") for spec in dict.fromkeys(self.models("build")))
        return [model for kind, _, model in asked if kind == "bedrock"]


PROFILES: Mapping[ProfileName, Profile] = {
    "dev": Profile("dev"),
    "prod": Profile(
        "prod",
        neptune_max=16.0,
        neptune_readers=1,
        vector_units=16,
        vector_indexes=8,
        backup_days=14,
        keep_data=True,
        protect=True,
        endpoint_zones=2,
        concurrency=25,
        reserve=50,
        snap_start=True,
        log_days=90,
        web_firewall=True,
        budget=1_500,
    ),
    "emulated": Profile("emulated", embedding_model="minilm", llm="none"),
}
ZONES = 2
LONGEST_SUFFIX = 10
# how ids of a network begin, by what names them
_IDS = {"vpc": "vpc", "subnets": "subnet", "route_tables": "rtb", "collections_endpoint": "vpce"}
_BOUNDARY = re.compile(r"arn:aws[\w-]*:iam::(?:\d{12}|aws):policy/[\w+=,.@/-]+|[\w+=,.@/-]{1,128}")
_QUALIFIER = re.compile(r"[A-Za-z0-9_-]{1,10}")  # as the template of the bootstrap stack has it
_TRUTH = {"true": True, "false": False}
# what ``-c name=value`` may change
CHANGEABLE = (
    "name boundary qualifier protect iam iam_accounts domain certificate api_endpoints vpc subnets route_tables endpoints "
    "collections_endpoint neptune_min neptune_max neptune_readers neptune_hours vector_units vector_indexes "
    "zones endpoint_zones concurrency reserve snap_start log_days embedding_model next_embedding_model llm rerank_model "
    "extraction_file tracing budget tags alarm_email data"
).split()
_FIELDS = {"name": "suffix"}  # where they are called otherwise than on the command line


def profile_of(context: Mapping[str, Any]) -> Profile:
    """Return the profile that the context names (``profile``, default dev), changed as it says.

    Raise ``ValueError`` for an unknown profile, a value of another type, or the emulated profile without ``data``.
    """
    name = context.get("profile", "dev")
    if name not in PROFILES:
        raise ValueError(f"profile {name!r} is unknown: use -c profile={'|'.join(PROFILES)}")
    changes: dict[str, Any] = {}
    for key in CHANGEABLE:
        if (given := context.get(key)) is not None:
            field = _FIELDS.get(key, key)
            kind = type(getattr(PROFILES[name], field))
            try:
                changes[field] = _TRUTH[str(given).lower()] if kind is bool else kind(given)
            except (ValueError, KeyError):
                wanted = "true or false" if kind is bool else kind.__name__
                raise ValueError(f"-c {key}={given}: expected {wanted}") from None
    profile = replace(PROFILES[name], **changes)
    if not profile.aws and not profile.data:
        raise ValueError("profile emulated: say where the embedded stores are, with -c data=FOLDER")
    _check_names(profile)
    _check_network(profile)
    _check_callers(profile)
    if not 1.0 <= profile.neptune_min <= profile.neptune_max <= 128 or profile.neptune_max < 2.5:
        raise ValueError("neptune_min and neptune_max: Neptune Serverless takes 1 to 128, and a maximum of 2.5 or more")
    if any(units * 2 % 1 for units in (profile.neptune_min, profile.neptune_max)):
        raise ValueError("neptune_min and neptune_max: Neptune Serverless takes steps of 0.5")
    if profile.vector_units not in (2, 4, 8) and (profile.vector_units < 16 or profile.vector_units % 16):
        raise ValueError(f"vector_units {profile.vector_units}: OpenSearch Serverless takes 2, 4, 8 or a multiple of 16")
    if not 1 <= profile.vector_indexes <= 64:
        raise ValueError(f"vector_indexes {profile.vector_indexes}: 1 to 64; a collection has 1,000 indexes at most")
    if profile.zones and len(set(profile.zones.split(","))) != ZONES:
        raise ValueError(f"zones {profile.zones!r}: name {ZONES} zones of the region, as us-east-1a,us-east-1b")
    if not 1 <= profile.endpoint_zones <= ZONES:
        raise ValueError(f"endpoint_zones {profile.endpoint_zones}: 1 to {ZONES}")
    if profile.neptune_hours:
        try:
            Hours.of(profile.neptune_hours)
        except ValueError as error:
            raise ValueError(f"neptune_hours {error}") from None
    if any(not all(pair.partition("=")[::2]) for pair in profile.tags.split(",") if profile.tags):
        raise ValueError(f"tags {profile.tags!r}: write NAME=VALUE with commas between, as team=search,cost-centre=4711")
    known = [model for model in KNOWN_DIMENSIONS if model.startswith("bedrock:")]  # a profile has no other dimension
    if profile.next_embedding_model not in ("", *known):
        raise ValueError(f"next_embedding_model {profile.next_embedding_model!r}: name one of {', '.join(known)}")
    _check_extraction(profile)
    if not 0 <= profile.reserve <= 1_000 or not 1 <= profile.concurrency <= 1_000:
        raise ValueError("concurrency takes 1 to 1,000 and reserve 0 to 1,000")
    return profile


def _check_names(profile: Profile) -> None:
    """Raise ``ValueError`` for a name or the name of a policy that AWS would refuse."""
    # what has least room: a data policy of OpenSearch, as lexigraph-prod-NAME-remove, of 32 characters
    if profile.suffix and (
        len(profile.suffix) > LONGEST_SUFFIX or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", profile.suffix)
    ):
        raise ValueError(
            f"name {profile.suffix!r}: at most {LONGEST_SUFFIX} of a-z, 0-9 and single hyphens between them, as team-a"
        )
    if profile.boundary and not _BOUNDARY.fullmatch(profile.boundary):
        raise ValueError(f"boundary {profile.boundary!r}: give the ARN of a policy, or the name of one in this account")
    if profile.qualifier and not _QUALIFIER.fullmatch(profile.qualifier):
        raise ValueError(f"qualifier {profile.qualifier!r}: at most 10 of letters, digits, - and _, as of `cdk bootstrap`")


def settings_of(profile: Profile) -> dict[str, Any]:
    """Return what the command line may change of a profile, as it is, by the names that it has there."""
    return {name: getattr(profile, _FIELDS.get(name, name)) for name in CHANGEABLE}


def _check_network(profile: Profile) -> None:
    """Raise ``ValueError`` for a network of the account that is not told wholly, or in another form than AWS's."""
    told = {name: getattr(profile, name) for name in _IDS}
    if not profile.vpc:
        if given := [name for name, value in told.items() if value] or ["endpoints"] * (profile.endpoints != "own"):
            raise ValueError(f"{given[0]}: belongs to a network of yours: name it, too, with -c vpc=vpc-...")
        return
    for name, value in told.items():
        ids = value.split(",") if value else []
        if wrong := [each for each in ids if not re.fullmatch(rf"{_IDS[name]}-[0-9a-f]{{8,17}}", each)]:
            raise ValueError(
                f"{name} {wrong[0]!r}: an id looks as {_IDS[name]}-0123456789abcdef0; write commas between several"
            )
        if len(set(ids)) < len(ids) and name != "route_tables":
            raise ValueError(f"{name} {value!r}: names one twice")
    subnets, tables = profile.subnets.split(","), [table for table in profile.route_tables.split(",") if table]
    if len(subnets) < ZONES:
        raise ValueError(f"subnets {profile.subnets!r}: name {ZONES} or more of {profile.vpc}, in different zones")
    if profile.zones:
        raise ValueError("zones: those of the subnets hold in a network of yours; leave it out")
    if profile.endpoints not in ("own", "existing"):
        raise ValueError(f"endpoints {profile.endpoints!r}: own, or existing where S3, DynamoDB and Bedrock have theirs")
    if profile.endpoints == "own" and not tables:
        raise ValueError("route_tables: name that of the subnets, or those, for the gateway endpoints of S3 and DynamoDB")
    if len(tables) not in (0, 1, len(subnets)):
        raise ValueError(f"route_tables {profile.route_tables!r}: name one for all subnets, or one for each in their order")
    if profile.endpoints == "existing" and tables:
        raise ValueError("route_tables: only our own gateway endpoints need them; leave it out with endpoints=existing")
    if profile.endpoints == "own" and profile.collections_endpoint:
        raise ValueError("collections_endpoint: one that is there goes with endpoints=existing")


def _check_extraction(profile: Profile) -> None:
    """Raise ``ValueError`` for an extraction file that cannot be read, is wrong, or that no model would be told."""
    if not profile.extraction_file:
        return
    if profile.llm == "none":
        raise ValueError("extraction_file: only a language model heeds it: name one with -c llm=bedrock:MODEL_ID")
    try:
        read_guide(Path(profile.extraction_file))
    except Misconfigured as error:
        raise ValueError(str(error)) from None


def _check_callers(profile: Profile) -> None:
    """Raise ``ValueError`` for accounts without the address that they would ask, and half of a name of one's own."""
    accounts = profile.iam_accounts.split(",") if profile.iam_accounts else []
    if not all(re.fullmatch(r"\d{12}", account) for account in accounts):
        raise ValueError(f"iam_accounts {profile.iam_accounts!r}: numbers of accounts, of 12 digits, with commas between")
    if accounts and not profile.iam:
        raise ValueError("iam_accounts: they ask the address that -c iam=true makes")
    endpoints = profile.api_endpoints.split(",") if profile.api_endpoints else []
    if not all(re.fullmatch(r"vpce-[0-9a-f]{8,17}", endpoint) for endpoint in endpoints):
        raise ValueError(
            f"api_endpoints {profile.api_endpoints!r}: ids of endpoints of execute-api, as vpce-..., with commas"
        )
    if endpoints and profile.domain:
        raise ValueError("domain: is of a public API; leave it out with api_endpoints")
    if bool(profile.domain) != bool(profile.certificate):
        raise ValueError("domain and certificate: give both, the certificate as the ARN of one of ACM in this region")
    if profile.domain and not re.fullmatch(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}", profile.domain):
        raise ValueError(f"domain {profile.domain!r}: a name as graph.example.org")
    if profile.certificate and not re.fullmatch(r"arn:aws[\w-]*:acm:[\w-]+:\d{12}:certificate/[\w-]+", profile.certificate):
        raise ValueError(f"certificate {profile.certificate!r}: an ARN as arn:aws:acm:REGION:ACCOUNT:certificate/ID")
