"""Our retrievers and answers in the frameworks that people already use: a module each, over local stores or a server."""
