"""Amazon OpenSearch Serverless: vectors and full text."""
