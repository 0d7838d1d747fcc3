"""Requests that wait as long as a loaded machine may take: httpx gives up after five seconds.

Reading the certificates of a machine for TLS, which nothing here uses, would take most of the time of a request.
"""

from functools import partial

import httpx

SECONDS = 30.0
get = partial(httpx.get, timeout=SECONDS, verify=False)
post = partial(httpx.post, timeout=SECONDS, verify=False)
put = partial(httpx.put, timeout=SECONDS, verify=False)
