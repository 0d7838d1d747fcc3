"""The boto3 clients behind :mod:`lexigraph.inference.bedrock`: made when needed, retried here, errors with a remedy."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from lexigraph.inference.lazy import Lazy
from lexigraph.inference.retry import Retry
from lexigraph.model.errors import ModelUnavailable

T = TypeVar("T")
CONNECT_SECONDS = 10.0
_CONNECTIONS = 32
# codes as in botocore's service models, in lower case (events of a stream write them with a small initial)
_BUSY = {
    "throttlingexception",
    "toomanyrequestsexception",
    "servicequotaexceededexception",
    "modeltimeoutexception",
    "modelnotreadyexception",
    "serviceunavailableexception",
    "internalserverexception",
    "badgatewayexception",
    "dependencyfailedexception",
}
_QUOTING = {"ParamValidationError", "ResponseParserError", "ResponseStreamingError"}  # parts of a request or reply
_DENIED = {"accessdeniedexception", "accessdenied", "unauthorizedexception"}
_CREDENTIALS = {
    "expiredtokenexception",
    "expiredtoken",
    "unrecognizedclientexception",
    "invalidsignatureexception",
    "invalidclienttokenid",
    "incompletesignature",
    "missingauthenticationtoken",
}


class Refused(ModelUnavailable):
    """Bedrock found fault with a request; ``code`` is the service's own."""

    def __init__(self, message: str, code: str, said: str) -> None:
        super().__init__(message)
        self.code = code
        self._said = said.lower()

    def mentions(self, *parts: str) -> bool:
        """Whether the request is not valid and the service's message holds one of ``parts`` (lower case)."""
        return self.code == "ValidationException" and any(part in self._said for part in parts)


class BedrockClient:
    """Sends requests for one model and turns what fails into errors that name it.

    ``setting`` is the variable that chooses the model, for the remedy. ``timeout`` is seconds without a byte. botocore's
    own retries are off: ``retry`` alone decides. ``endpoint_url`` is for a private endpoint, or a test.
    """

    def __init__(
        self,
        model: str,
        setting: str,
        *,
        region: str | None = None,
        timeout: float = 60.0,
        retry: Retry | None = None,
        endpoint_url: str | None = None,
    ) -> None:
        self._model = model
        self._setting = setting
        self._timeout = timeout
        self._retry = retry or Retry()
        self._endpoint_url = endpoint_url
        self._session = Lazy(lambda: _session(region))
        self._clients = {name: Lazy(self._maker(name)) for name in ("bedrock-runtime", "bedrock-agent-runtime", "bedrock")}

    def send(self, service: str, operation: str, request: Mapping[str, Any]) -> Any:
        """Return the parsed response of one request. Errors are botocore's, except ``Refused`` for a bad request."""
        try:
            return getattr(self._clients[service](), operation)(**request)
        except _exceptions().ClientError as error:
            if _code(error) == "validationexception":
                raise self._refused(error) from error
            raise

    def retry(self, action: Callable[[], T]) -> T:
        """Call ``action`` until it succeeds or another try is useless."""
        return self._retry.call(action, _wait)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what botocore and the connection raise into ``ModelUnavailable`` with the model id and the remedy."""
        known = _exceptions()
        from urllib3.exceptions import HTTPError

        try:
            yield
        except known.ClientError as error:
            raise self._refused(error) from error
        except (known.BotoCoreError, HTTPError, OSError) as error:
            raise ModelUnavailable(f"bedrock:{self._model}: {_short(error)}{self._remedy_of(error)}") from error

    def model_arn(self, model: str) -> str:
        """Return the ARN of a foundation model in the client's region; an ARN stays as it is."""
        if model.startswith("arn:"):
            return model
        with self.errors():
            meta = self._clients["bedrock-agent-runtime"]().meta
        return f"arn:{meta.partition}:bedrock:{meta.region_name}::foundation-model/{model}"

    def _maker(self, service: str) -> Callable[[], Any]:
        def make() -> Any:
            from botocore.config import Config

            config = Config(
                connect_timeout=min(CONNECT_SECONDS, self._timeout),
                read_timeout=self._timeout,
                max_pool_connections=_CONNECTIONS,
                retries={"total_max_attempts": 1, "mode": "standard"},
            )
            return self._session().client(service, config=config, endpoint_url=self._endpoint_url)

        return make

    def _refused(self, error: Any) -> Refused:
        detail = error.response.get("Error", {})
        code, said = detail.get("Code", ""), " ".join(str(detail.get("Message", "")).split())[:300]
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", "")
        # the service's own words may repeat the prompt, and what is raised is logged
        told = f"{code} (HTTP {status})" if status else code
        return Refused(f"bedrock:{self._model}: {told}{self._remedy(code.lower(), said.lower())}", code, said)

    def _remedy(self, code: str, said: str) -> str:
        if "legacy" in said or "end of its life" in said:
            return f". The model is being retired: set {self._setting} to a current one"
        if "inference profile" in said:
            return f". Set {self._setting} to an inference profile of it (the id with us., eu. or global. before it)"
        if code in _DENIED:
            return ". Request access to the model in the Bedrock console of this region, and allow the role to invoke it"
        if code in _CREDENTIALS:
            return ". Renew the AWS credentials"
        if code == "resourcenotfoundexception" or "model identifier" in said:
            return f". Check {self._setting}, and that the region (LEXIGRAPH_REGION) offers the model"
        if code in _BUSY:
            return ". Try later, raise the quota or LEXIGRAPH_MODEL_ATTEMPTS, or use a cross-region inference profile"
        return ""

    def _remedy_of(self, error: Exception) -> str:
        kind = type(error).__name__
        if "Credentials" in kind or "Token" in kind or kind == "ProfileNotFound":
            return ". Give AWS credentials: aws configure, AWS_PROFILE or a role"
        if kind == "NoRegionError":
            return ". Set LEXIGRAPH_REGION"
        if "Timeout" in kind:
            return ". Raise LEXIGRAPH_MODEL_TIMEOUT"
        return ". Check the network and the endpoint" if "Connect" in kind else ""


def _session(region: str | None) -> Any:
    _exceptions()
    import boto3  # type: ignore[import-untyped]  # boto3 carries no types
    import botocore.session

    core = botocore.session.Session()
    core.register_component("data_loader", _loader())
    return boto3.session.Session(botocore_session=core, region_name=region)


@cache
def _loader() -> Any:
    """Return what reads the descriptions of services: read once, they serve the clients of all models."""
    from botocore.loaders import create_loader

    return create_loader()


def _exceptions() -> Any:
    try:
        import boto3  # noqa: F401  # botocore alone is not enough
        import botocore.exceptions
    except ImportError as error:
        raise ModelUnavailable('Bedrock models need boto3; run: pip install "lexigraph[aws]"') from error
    return botocore.exceptions


def _wait(error: Exception) -> float | None:
    known = _exceptions()
    from urllib3.exceptions import HTTPError

    if isinstance(error, known.ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return 0.0 if _code(error) in _BUSY or status == 429 or status >= 500 else None
    return 0.0 if isinstance(error, (known.ConnectionError, known.HTTPClientError, HTTPError, OSError)) else None


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", "")).lower()


def _short(error: Exception) -> str:
    if type(error).__name__ in _QUOTING:
        return type(error).__name__
    return " ".join(str(error).split())[:300] or type(error).__name__
