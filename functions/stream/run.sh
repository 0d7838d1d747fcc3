#!/bin/sh
# started by Lambda Web Adapter's /opt/bootstrap instead of the runtime client
export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}${LAMBDA_TASK_ROOT:-.}:/opt/python"
exec python -m functions.stream.handler
