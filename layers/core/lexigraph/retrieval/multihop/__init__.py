"""Multi-hop: hop by hop over chunks, with decay and symbolic edges (H)."""
