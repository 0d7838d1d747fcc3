"""Connection strings: what all back ends read in them, and by which rules.

Errors tell what is expected and never repeat a string, which may hold a secret.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlsplit

from lexigraph.model.errors import Misconfigured

_REGION = re.compile(r"[a-z]{2,8}(-[a-z]+)+-\d{1,2}")  # eu-west-1, us-gov-west-1, eu-isoe-west-1
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
# of AWS's partitions: the usual regions, China, and the European Sovereign Cloud
_AWS = r"amazonaws\.(com|com\.cn|eu)"
_DUAL_STACK = r"(aws|amazonwebservices\.(com\.cn|eu))"
_AWS_HOST = re.compile(rf"[a-z0-9.-]+\.({_AWS}|api\.{_DUAL_STACK})")
_SERVICE_HOST = re.compile(rf"[a-z0-9.-]+\.({_AWS}|on\.{_DUAL_STACK})")


def read_connection(connection: str, form: str) -> tuple[str, Mapping[str, str]]:
    """Return what a connection string of a form says between ``SCHEME://`` and ``?``, and the values of its options.

    ``form`` is shown in errors and tells scheme and options: ``s3://BUCKET[?region=REGION&endpoint=URL]``. A form without
    options is one of a folder, whose name may hold any character. Raise ``Misconfigured``.
    """
    scheme, _, known = form.partition("://")
    given, _, rest = connection.partition("://")
    if "?" not in known:
        if given != scheme:
            raise Misconfigured(f"{scheme} connection: expected {form}")
        return rest, {}
    wrong = Misconfigured(f"{scheme} connection: expected {form}, each option at most once, without a user and a fragment")
    where, _, query = rest.partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise wrong from None
    options, names = dict(pairs), set(re.findall(r"[?&](\w+)=", known))
    unclear = len(options) < len(pairs) or not options.keys() <= names or not all(options.values())
    if given != scheme or not where or "@" in where or "#" in rest or unclear:
        raise wrong
    if "region" in options and not is_region(options["region"]):
        raise Misconfigured(f"{scheme} connection: region must look like eu-west-1")
    return where, options


def is_region(text: str) -> bool:
    """Whether a text has the form of a region's name."""
    return _REGION.fullmatch(text) is not None


def region_in(host: str) -> str | None:
    """Return the region that the host name of an AWS service tells, if any."""
    labels = reversed(host.split(".")) if _SERVICE_HOST.fullmatch(host) else ()
    return next(filter(is_region, labels), None)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that is spoken to by HTTP. ``port`` is that of the protocol where none was given."""

    protocol: str
    host: str
    port: int

    @property
    def url(self) -> str:
        """The address with the port and without a path."""
        return f"{self.protocol}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        return self.host == "localhost" or (_is_address(self.host) and ip_address(self.host).is_loopback)

    @property
    def of_aws(self) -> bool:
        """Whether it is one of AWS itself."""
        return self.protocol == "https" and _AWS_HOST.fullmatch(self.host) is not None


def read_endpoint(url: str, what: str, port: int = 0) -> Endpoint:
    """Read ``https://HOST[:PORT]``, or ``http://`` on this machine: elsewhere it would travel readable by others.

    ``what`` names it in errors, ``port`` is used when none is given. Raise ``Misconfigured``.
    """
    wrong = Misconfigured(
        f"{what}: expected https://HOST[:PORT], a host name or an address and 1 to 65535, without a user, a path and options"
    )
    try:
        parts = urlsplit(url)
        given, host = parts.port, parts.hostname or ""
    except ValueError:
        raise wrong from None
    beside = parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment
    known = given != 0 and (_HOST.fullmatch(host) or _is_address(host))
    if parts.scheme not in ("http", "https") or beside or not known:
        raise wrong
    endpoint = Endpoint(parts.scheme, host, given or port or (443 if parts.scheme == "https" else 80))
    if endpoint.protocol == "http" and not endpoint.local:
        raise Misconfigured(f"{what}: http, without TLS, is for this machine only (127.0.0.1, localhost); use https")
    return endpoint


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
