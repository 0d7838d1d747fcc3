"""Retrievers and answers as components of LlamaIndex, LangChain and Haystack, over local stores or a server."""
