"""The boto3 clients behind :mod:`lexigraph.inference.bedrock`: made when needed, retried here, errors with a remedy."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from lexigraph.aws import code_of, config, credentials_remedy, may_pass, not_reached, session, status_of
from lexigraph.inference.lazy import Lazy
from lexigraph.model.errors import LexigraphError, ModelUnavailable
from lexigraph.retry import Retry

T = TypeVar("T")
CONNECT_SECONDS = 10.0
_QUOTING = {"ParamValidationError", "ResponseParserError", "ResponseStreamingError"}  # parts of a request or reply
_DENIED = {"AccessDeniedException", "AccessDenied", "UnauthorizedException"}


class Refused(ModelUnavailable):
    """Bedrock found fault with a request; ``code`` is the service's own, ``said`` its message in lower case."""

    def __init__(self, message: str, code: str, said: str) -> None:
        super().__init__(message)
        self.code = code
        self._said = said

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
        self._session = Lazy(lambda: session(region, "Bedrock models", ModelUnavailable, extra="bedrock"))
        self._clients = {
            name: Lazy(partial(self._made, name)) for name in ("bedrock-runtime", "bedrock-agent-runtime", "bedrock")
        }

    def asking(self, seconds: float) -> "BedrockClient":
        """Return a client that waits no longer than so many seconds."""
        made = BedrockClient(self._model, self._setting, timeout=seconds, endpoint_url=self._endpoint_url)
        made._session = self._session
        return made

    def send(self, service: str, operation: str, request: Mapping[str, Any]) -> Any:
        """Return the parsed response of one request. Errors are botocore's, except ``Refused`` for a bad request."""
        try:
            return getattr(self._clients[service](), operation)(**request)
        except Exception as error:
            if code_of(error) == "ValidationException":
                raise self._refused(error) from error
            raise

    def ask(self, service: str, operation: str, request: Mapping[str, Any]) -> Any:
        """Send until there is a response, or another try is useless."""
        return self.retry(lambda: self.send(service, operation, request))

    def retry(self, action: Callable[[], T]) -> T:
        """Call ``action`` until it succeeds or another try is useless. Errors as in a block of :meth:`errors`."""
        with self.errors():
            return self._retry.call(action, lambda error: 0.0 if may_pass(error) else None, f"bedrock:{self._model}")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what botocore and the connection raise into ``ModelUnavailable`` with the model id and the remedy."""
        try:
            yield
        except LexigraphError:
            raise
        except Exception as error:
            from botocore.exceptions import BotoCoreError, ClientError

            if isinstance(error, ClientError):  # a proxy's answer has no code
                raise self._refused(error) from error
            if not isinstance(error, BotoCoreError) and not not_reached(error):
                raise
            kind = type(error).__name__
            told = kind if kind in _QUOTING else " ".join(str(error).split())[:300] or kind
            raise ModelUnavailable(f"bedrock:{self._model}: {told}{self._remedy(error)}") from error

    def model_arn(self, model: str) -> str:
        """Return the ARN of a foundation model in the client's region; an ARN stays as it is."""
        if model.startswith("arn:"):
            return model
        with self.errors():
            meta = self._clients["bedrock-agent-runtime"]().meta
        return f"arn:{meta.partition}:bedrock:{meta.region_name}::foundation-model/{model}"

    def _made(self, service: str) -> Any:
        made = self._session()  # first: without boto3 it says what to install
        settings = config(min(CONNECT_SECONDS, self._timeout), self._timeout)
        return made.client(service, config=settings, endpoint_url=self._endpoint_url)

    def _refused(self, error: Any) -> Refused:
        code, said = code_of(error), " ".join(str(error.response["Error"].get("Message", "")).split())[:300].lower()
        # the service's own words may repeat the prompt, and what is raised is logged
        told = f"{code} (HTTP {status})".lstrip() if (status := status_of(error)) else code
        return Refused(f"bedrock:{self._model}: {told}{self._remedy(error, said)}", code, said)

    def _remedy(self, error: Exception, said: str = "") -> str:
        kind = code_of(error) or type(error).__name__
        if "legacy" in said or "end of its life" in said:
            return f". The model is being retired: set {self._setting} to a current one"
        if "inference profile" in said:
            return f". Set {self._setting} to an inference profile of it (the id with us., eu. or global. before it)"
        if kind in _DENIED:
            return ". Request access to the model in the Bedrock console of this region, and allow the role to invoke it"
        if kind == "ResourceNotFoundException" or "model identifier" in said:
            return f". Check {self._setting}, and that the region (LEXIGRAPH_REGION) offers the model"
        if kind == "NoRegionError":
            return ". Set LEXIGRAPH_REGION"
        if remedy := credentials_remedy(error):
            return f". {remedy[0].upper()}{remedy[1:]}"
        if code_of(error):
            busy = ". Try later, raise the quota or LEXIGRAPH_MODEL_ATTEMPTS, or use a cross-region inference profile"
            return busy if may_pass(error) else ""
        if "Timeout" in kind:
            return ". Raise LEXIGRAPH_MODEL_TIMEOUT"
        return ". Check the network and the endpoint" if "Connect" in kind else ""
