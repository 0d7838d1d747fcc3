"""A tenant's graph out of the stores, in formats that other tools read, and back in from its own."""
