"""Walks by Gremlin over a web socket: egonets and distances."""
