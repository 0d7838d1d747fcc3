"""Back ends, one module each."""
