"""Gremlin over a web socket: egonets and distances in one traversal each."""
