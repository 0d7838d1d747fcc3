"""One file a stack."""
