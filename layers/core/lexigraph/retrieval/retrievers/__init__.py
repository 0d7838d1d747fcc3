"""The retrievers, each a short composition of the stages."""
