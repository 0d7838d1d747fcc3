"""Models: embeddings, language models, rerankers, behind small protocols."""
