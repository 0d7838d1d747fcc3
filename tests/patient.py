"""Requests that wait as long as a loaded machine may take: httpx gives up after five seconds."""

from functools import partial

import httpx

SECONDS = 30.0
get = partial(httpx.get, timeout=SECONDS)
post = partial(httpx.post, timeout=SECONDS)
put = partial(httpx.put, timeout=SECONDS)
