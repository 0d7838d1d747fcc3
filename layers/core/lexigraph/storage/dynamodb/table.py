"""The one table of the DynamoDB registry and cache, as plain data: what deploys it and what tests it read it here.

It has no secondary index: those answer late, and readers must see what was saved. What is looked up in another way has an
item of its own, written in the same transaction (the layout is in :mod:`lexigraph.storage.dynamodb.registry`).
"""

from typing import Any

PARTITION_KEY = "pk"
SORT_KEY = "sk"
ATTRIBUTES = {PARTITION_KEY: "S", SORT_KEY: "S"}
TTL_ATTRIBUTE = "expires"
BILLING_MODE = "PAY_PER_REQUEST"


def create_table_request(name: str) -> dict[str, Any]:
    """Return the arguments of DynamoDB's ``CreateTable``."""
    return {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": a, "AttributeType": kind} for a, kind in ATTRIBUTES.items()],
        "KeySchema": [
            {"AttributeName": PARTITION_KEY, "KeyType": "HASH"},
            {"AttributeName": SORT_KEY, "KeyType": "RANGE"},
        ],
        "BillingMode": BILLING_MODE,
    }


def time_to_live_request(name: str) -> dict[str, Any]:
    """Return the arguments of ``UpdateTimeToLive``: expired sessions and leases go by themselves."""
    return {"TableName": name, "TimeToLiveSpecification": {"Enabled": True, "AttributeName": TTL_ATTRIBUTE}}
