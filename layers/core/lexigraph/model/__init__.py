"""The lexical graph as values: nodes, ids, normalisation, filters, results. No I/O."""
