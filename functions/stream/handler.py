"""`stream`: the same application as a web server behind Lambda Web Adapter, which passes on what is streamed.

The function's handler is ``functions/stream/run.sh``. The adapter waits for ``/health``, then sends the events as requests.
"""

import os

import uvicorn

from functions.runtime import settings
from lexigraph.api.app import create_app


def main() -> None:
    """Serve on the port that the adapter asks."""
    port = int(os.environ.get("AWS_LWA_PORT", "8080"))
    uvicorn.run(create_app(settings()), host="127.0.0.1", port=port, access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
