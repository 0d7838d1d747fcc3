"""What keeps stores sound after the ingest: repair, another embedding, and writers that were too late."""
