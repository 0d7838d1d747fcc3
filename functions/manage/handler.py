"""`manage`: the routes that write, which it does by the inbox, the state machine and the registry alone."""

from functions.api import proxied

# the gateway gives up after 29 seconds, and cannot say that the job goes on
handler = proxied(seconds=27)
