"""The models of a profile as resources of IAM."""

from aws_cdk import Aws

_REGIONAL = ("us", "eu", "apac", "jp", "au", "global")  # profiles of several regions begin so


def model_arns(spec: str) -> list[str]:
    """Return the ARNs that a role has to be allowed for a model, such as ``bedrock:amazon.nova-lite-v1:0``.

    A profile of several regions asks its model in any of these. What is no model of Bedrock has none.
    """
    kind, _, model = spec.partition(":")
    if kind != "bedrock":
        return []
    first, _, rest = model.partition(".")
    if first not in _REGIONAL:
        return [f"arn:{Aws.PARTITION}:bedrock:{Aws.REGION}::foundation-model/{model}"]
    profile = f"arn:{Aws.PARTITION}:bedrock:{Aws.REGION}:{Aws.ACCOUNT_ID}:inference-profile/{model}"
    return [profile, f"arn:{Aws.PARTITION}:bedrock:*::foundation-model/{rest}"]
