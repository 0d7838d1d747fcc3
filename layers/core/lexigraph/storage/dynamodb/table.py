"""The one table of the DynamoDB registry and cache, as plain data: what deploys it and what tests it read it here.

It has no secondary index: those answer late, and readers must see what was saved. What is looked up in another way has an
item of its own, written in the same transaction (the layout is in :mod:`lexigraph.storage.dynamodb.registry`).
"""

PARTITION_KEY = "pk"
SORT_KEY = "sk"
TTL_ATTRIBUTE = "expires"
BILLING_MODE = "PAY_PER_REQUEST"
