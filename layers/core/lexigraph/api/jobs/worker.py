"""A process that takes documents in, so that readers keep their processor: ``python -m lexigraph.api.jobs.worker LEVEL``.

It reads ``{"tenant", "job", "resumed"}`` lines from its input and answers each with a line when the job is over. When the
input ends, its server is gone: it stops where it is, and the next server goes on from there. ``LEVEL`` is that of the log.
"""

import json
import logging
import os
import signal
import sys
from threading import Thread

from lexigraph import telemetry
from lexigraph.ingestion.jobs import run_job
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings

logger = logging.getLogger("lexigraph.api.jobs.worker")  # of a module that is run, __name__ says nothing


def main() -> None:
    """Work until the input ends."""
    # sent to every process of a service that is stopped; an end before its server's would look like a crash
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("lexigraph").setLevel(int(sys.argv[1]))
    index = LexicalGraphIndex(settings=Settings.model_validate_json(sys.stdin.readline()))

    def work(line: str) -> None:
        asked = json.loads(line)
        tenant = Tenant(asked["tenant"])
        try:
            run_job(index, tenant, index.stores.registry.job(tenant, asked["job"]), resumed=asked["resumed"])
        except BaseException as error:  # noqa: BLE001  # its text may be that of a document
            logger.error("job %s: %s", asked["job"], type(error).__name__)
            os._exit(1)  # the server waits for an answer or for the end of this process
        telemetry.flush()  # this process may be killed at any time
        print("done", flush=True)  # noqa: T201  # the answer to the server

    for line in sys.stdin:
        # beside the reading, so that the end of the input is seen at once
        Thread(target=work, args=(line,), daemon=True).start()
    os._exit(0)


if __name__ == "__main__":
    main()
