"""Export a tenant's graph in formats of other tools, and import Lexigraph's own format."""
