"""Ask a deployment as a role or a user of AWS, with no key: each request is signed with IAM (SigV4).

    python examples/signed.py https://ID.execute-api.REGION.amazonaws.com/v1 "Who leads the team that owns Tidewater?"

The address is the output `SignedUrl` of the stack `api`. Credentials come from where the AWS command line has them; an
operator has let their role in: `lexigraph keys create --principal arn:aws:iam::123456789012:role/NAME`.
Needs botocore and httpx.
"""

import json
import os
import sys
from collections.abc import Iterator

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.session import get_session


class Signed(httpx.Auth):
    """Signs requests of httpx for API Gateway with the credentials of the environment, renewed when they end."""

    requires_request_body = True

    def __init__(self, region: str) -> None:
        self._credentials, self._region = get_session().get_credentials(), region
        if self._credentials is None:
            raise SystemExit("no AWS credentials: `aws sts get-caller-identity` has to answer")

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        """Sign one request."""
        signed = AWSRequest(request.method, str(request.url), data=request.content, headers={"Host": request.url.host})
        SigV4Auth(self._credentials.get_frozen_credentials(), "execute-api", self._region).add_auth(signed)
        request.headers.update(dict(signed.headers.items()))
        yield request


def main(url: str, question: str) -> None:
    """Print the answer to a question as it comes, from a stream."""
    region = os.environ.get("AWS_REGION") or httpx.URL(url).host.split(".")[2]
    with (
        httpx.Client(auth=Signed(region), timeout=60) as client,
        client.stream("POST", f"{url.rstrip('/')}/query", json={"question": question, "stream": True}) as reply,
    ):
        if reply.status_code != 200:
            raise SystemExit(f"{reply.status_code}: {reply.read().decode()}")
        for line in reply.iter_lines():
            if line.startswith("data:"):
                print(json.dumps(json.loads(line[5:]), ensure_ascii=False))


if __name__ == "__main__":
    main(*sys.argv[1:3])
