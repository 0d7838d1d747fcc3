"""Rules of AwsSolutions that do not hold here, each with the reason."""

from aws_cdk import Acknowledgment, App, Stack, Validations

from infra.settings import Profile

_EVERYWHERE = {"AwsSolutions-L1": "Python 3.13: all that the layers hold is released for it on arm64"}
_CDK_OWN = "arn:<AWS::Partition>:iam::aws:policy/service-role"
_BY_STACK = {
    "data": {
        f"AwsSolutions-IAM4[Policy::{_CDK_OWN}/AWSLambdaBasicExecutionRole]": "CDK's function that turns the events of the "
        "bucket on, run at deployment only",
        "AwsSolutions-S1": "the bucket that access logs go to",
    },
    "graph": {"AwsSolutions-SQS3": "the one queue takes what schedules could not do: it is a dead-letter queue itself"},
    "api": {
        f"AwsSolutions-IAM4[Policy::{_CDK_OWN}/AmazonAPIGatewayPushToCloudWatchLogs]": "the account's role for the logs of "
        "API Gateway, as AWS documents it",
        "AwsSolutions-APIG2": "the application checks every field and names the one that is wrong",
        "AwsSolutions-APIG4": "/health tells nothing and lets a load balancer look; the files of the explorer hold "
        "nothing secret, and a browser has no key before it has them",
        "AwsSolutions-COG4": "API keys of our own, checked by `authorize`: callers are programs, not users of a pool",
    },
}
# wildcards, each with its reason in docs/security.md; a test of the templates knows no other
_WILDCARDS = {
    "*": "X-Ray, network interfaces of functions in a VPC, the delivery of workflow logs and reranking have no resources of "
    "their own",
    "{name}-data:ExportsOutputFnGetAttArtefactsC012E42AArnBAB43CB7/*": "the objects of our own bucket",
    "{name}-data:ExportsOutputFnGetAttArtefactsC012E42AArnBAB43CB7/bulk/*": "the batches of lexigraph bulk",
    "{name}-data:ExportsOutputFnGetAttArtefactsC012E42AArnBAB43CB7/documents/*": "texts and tables kept of documents",
    "arn:<AWS::Partition>:bedrock:<AWS::Region>:<AWS::AccountId>:model-invocation-job/*": "a job has no id before it starts",
    "{name}-data:ExportsOutputFnGetAttDocuments7E5B2978Arn159F38C5/*": "the objects of our own bucket",
    "arn:<AWS::Partition>:neptune-db:<AWS::Region>:<AWS::AccountId>:{name}-graph:"
    "ExportsOutputFnGetAttClusterClusterResourceId7342BE98/*": "the data of a cluster has no finer resources",
    "arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:{name}/*": "the map's runs of our own machine",
    "arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:{name}:*": "the map's runs of our own machine",
    "arn:<AWS::Partition>:bedrock:*::foundation-model/{llm}": "a model of several regions is asked in any of these",
}
_WITHOUT_FIREWALL = {"AwsSolutions-APIG3": "prod has a firewall; dev saves its price"}


def acknowledge(app: App, profile: Profile) -> None:
    """Acknowledge what is known, where it is."""
    named = {"name": profile.prefix, "llm": profile.llm.partition(":")[2].partition(".")[2]}
    wildcards = {f"AwsSolutions-IAM5[Resource::{r.format(**named)}]": why for r, why in _WILDCARDS.items()}
    _acknowledge(app, {**_EVERYWHERE, **wildcards})
    for stack in (child for child in app.node.children if isinstance(child, Stack)):
        _acknowledge(stack, _BY_STACK.get(stack.stack_name.rpartition("-")[2], {}))
        if stack.stack_name.endswith("-api") and not profile.web_firewall:
            _acknowledge(stack, _WITHOUT_FIREWALL)


def _acknowledge(scope: App | Stack, reasons: dict[str, str]) -> None:
    for rule, reason in reasons.items():
        Validations.of(scope).acknowledge(Acknowledgment(id=rule, reason=reason))
