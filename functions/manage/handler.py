"""`manage`: the routes that write, which it does by the inbox, the state machine and the registry alone."""

from functions.api import proxied

handler = proxied()
