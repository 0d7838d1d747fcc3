"""From files to the lexical graph: load, chunk, extract, build, finish."""
