"""Value types of the lexical graph: nodes, ids, normalisation, filters, results. No I/O."""
