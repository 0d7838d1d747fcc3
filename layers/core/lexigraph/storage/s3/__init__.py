"""Amazon S3: documents."""
