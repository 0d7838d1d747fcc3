"""An ingest in steps that run anywhere, as the deployment runs them."""
