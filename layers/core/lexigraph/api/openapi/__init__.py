"""The OpenAPI document: made, kept as a file, and compared with the one before."""
