"""`curate`: makes and undoes decisions about names, and serves no other route; it may write the graph."""

from functions.api import proxied

handler = proxied("decisions")
