"""`query`: the routes that read, without rights to write graph or vectors."""

from functions.api import proxied

handler = proxied()
