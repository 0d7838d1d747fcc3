"""What clients of AWS make of errors: of what is no service's answer, and of credentials that are none."""

from http.server import BaseHTTPRequestHandler

import pytest

from lexigraph.inference.bedrock_client import BedrockClient
from lexigraph.model.errors import Misconfigured, ModelUnavailable, StoreUnavailable
from lexigraph.storage.common.aws import AwsClient, Place
from tests.standins.loopback import LoopbackServer
from tests.standins.neptune import account

SECRET = "words of a document"


class Proxy(LoopbackServer):
    """Stands before a service and lets nothing through."""

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        text = f'{{"__type": "", "code": "", "message": "{SECRET}"}}'
        if "bucket" in request.path:
            text = f"<Error><Message>{SECRET}</Message></Error>"
        request.send_response(403)
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text.encode())


@pytest.mark.parametrize(
    ("service", "name", "operation", "request_"),
    [
        ("s3", "bucket", "get_object", {"Bucket": "bucket", "Key": "key"}),
        ("dynamodb", "table", "get_item", {"TableName": "table", "Key": {"pk": {"S": "a"}}}),
    ],
)
def test_a_refusal_that_names_no_code_is_one_of_the_store_and_repeats_nothing(service, name, operation, request_) -> None:
    with account(), Proxy() as proxy:
        client = AwsClient(service, Place(service, name, "", "eu-west-1", proxy.url), seconds=1.0)
        with pytest.raises(StoreUnavailable, match="HTTP 403") as raised:
            client.call(operation, **request_)
        client.close()
    assert SECRET not in str(raised.value)


def test_a_refusal_of_a_model_that_names_no_code_repeats_nothing() -> None:
    with account(), Proxy() as proxy:
        client = BedrockClient("a-model", "LEXIGRAPH_LLM", region="eu-west-1", endpoint_url=proxy.url)
        with pytest.raises(ModelUnavailable, match="HTTP 403") as raised:
            client.ask("bedrock-runtime", "converse", {"modelId": "a-model", "messages": []})
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("wrong", [{"AWS_PROFILE": "nobody"}, {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": ""}])
def test_credentials_that_are_none_are_a_matter_of_configuration(wrong, monkeypatch) -> None:
    with account():
        for name, value in wrong.items():
            monkeypatch.setenv(name, value)
        if "AWS_PROFILE" in wrong:
            monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        client = AwsClient("s3", Place("s3", "bucket", "", "eu-west-1", "http://127.0.0.1:9"), seconds=0.1)
        with pytest.raises(Misconfigured, match="AWS credentials"):
            client.call("get_object", Bucket="bucket", Key="key")
