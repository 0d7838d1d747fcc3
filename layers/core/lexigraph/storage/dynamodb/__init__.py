"""Amazon DynamoDB: registry and cache in one table."""
