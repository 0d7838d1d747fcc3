"""Cold start and memory of each function under AWS's runtime client: ``python -m bench.functions``.

Processor seconds from the start of the process until it asks for its first event, and then until it has answered a warm-up;
the most memory that it held. Over DynamoDB and S3 on loopback, on this machine: Lambda's processors differ.
"""

import os
import tempfile
from pathlib import Path

from tests.functions import ALL, deployed, event
from tests.standins.lambda_runtime import LambdaRuntime


def main() -> None:
    """Print a row for each function."""
    print("| function | cold start, s CPU | warm-up answered, s CPU | memory, MB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, deployed(Path(folder), aws=True, LEXIGRAPH_API_AUTH="gateway"):
        environment = {k: v for k, v in os.environ.items() if k.startswith(("LEXIGRAPH_", "AWS_"))}
        for name in ALL:
            with LambdaRuntime(name, environment) as function:
                function.invoke(event("warmup"))
                warm, memory = function.processor_seconds(), function.memory_mb()
                print(f"| {name} | {function.cold:.2f} | {warm:.2f} | {memory:.0f} |")


if __name__ == "__main__":
    main()
