"""Api: one REST API under one kind of key; `query` reads, `manage` and `curate` write, `stream` reads and streams.

Where it is wanted, a second one with the same routes for who signs with IAM, and a name of one's own for the first.
"""

import json
from collections.abc import Mapping
from typing import Any

from aws_cdk import Aws, CfnOutput, Duration, RemovalPolicy, Size, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_wafv2 as waf
from constructs import Construct

from infra.constructs.extraction import extraction
from infra.constructs.function import Function, Rights
from infra.constructs.logs import LogGroup
from infra.deployment import Deployment
from infra.layers import ROOT
from infra.settings import Profile
from infra.stacks.data import DataStack
from infra.stacks.ingestion import IngestionStack

STAGE = "v1"
_METHODS = ("get", "post", "put", "delete", "patch")
# Lambda Web Adapter as AWS publishes it, a layer in each region
_ADAPTER_ACCOUNT, _ADAPTER_VERSION = "753240598075", 25
_SECONDS = 29  # API Gateway waits no longer for what is not streamed
_STREAM_SECONDS = 300
_FOLLOW_SECONDS = _STREAM_SECONDS - 15  # of a job, after which the client is told where to go on
_DECIDE_SECONDS = 120  # a decision is carried out also when the gateway has given up
_KEY_CACHE_SECONDS = 60
# operations by function; all others of the API go to `query`, and so does what the API does not know
_MANAGED = (
    "POST /documents",
    "POST /documents/upload-url",
    "DELETE /documents/{document_id}",
    "POST /ingest",
    "POST /estimate",
    "POST /cache/clear",
    "POST /unstructured/upload_document",
)
_DECIDED = ("POST /curation/decisions", "DELETE /curation/decisions/{decision_id}")
_STREAMED = ("POST /query", "GET /jobs/{job_id}/events", "POST /mcp")
_FOLLOWED = ("GET /ingest/stream", "POST /ingest/stream")  # takes in and streams
# files of the page, which hold nothing secret: by the function that may write nothing, as strangers may ask for them
_PAGE = ("GET /explorer", "GET /explorer/{proxy+}")
_OPEN = ("GET /health", *_PAGE)
_COMPRESSED = 1_024  # bytes, from which replies are; those that are streamed never
_STREAMING = ("stream", "follow")
_BROKEN = '"request of a stream"'  # how the log tells of a stream that an error broke off: lexigraph/api/sse.py
QUESTIONS = "POST /query"  # the one route with figures of its own: CloudWatch takes money for those of every other
# the gateway's own errors in the shape of all others
_ERRORS: Mapping[str, tuple[apigateway.ResponseType, str, str, str]] = {
    "Unauthorized": (apigateway.ResponseType.UNAUTHORIZED, "401", "unauthorized", "no API key: send it as X-API-Key"),
    "Denied": (apigateway.ResponseType.ACCESS_DENIED, "401", "unauthorized", "this API key opens nothing"),
    "BadKey": (apigateway.ResponseType.INVALID_API_KEY, "403", "forbidden", "this API key opens nothing"),
    "Throttled": (apigateway.ResponseType.THROTTLED, "429", "rate_limited", "too many requests: try again later"),
    "Quota": (apigateway.ResponseType.QUOTA_EXCEEDED, "429", "quota_exceeded", "the quota of this month is used up"),
    "TooLarge": (apigateway.ResponseType.REQUEST_TOO_LARGE, "413", "too_large", "at most 10 MB; put larger files into S3"),
    "Slow": (apigateway.ResponseType.INTEGRATION_TIMEOUT, "503", "timeout", "no answer in time: ask with stream true"),
    "Missing": (apigateway.ResponseType.MISSING_AUTHENTICATION_TOKEN, "404", "not_found", "no such route"),
    "Bad": (apigateway.ResponseType.DEFAULT_4_XX, "", "bad_request", "the request cannot be taken as it is"),
    "Failed": (apigateway.ResponseType.DEFAULT_5_XX, "", "internal_error", "the service failed; try again"),
}
# of the API for who signs, which has no route that it does not know
_UNSIGNED = "sign the request with IAM (SigV4, service execute-api)"
_SIGNED_ERRORS = {
    **_ERRORS,
    "Missing": (apigateway.ResponseType.MISSING_AUTHENTICATION_TOKEN, "401", "unauthorized", _UNSIGNED),
    "Signature": (
        apigateway.ResponseType.INVALID_SIGNATURE,
        "401",
        "unauthorized",
        "the signature does not fit the request",
    ),
    "Expired": (apigateway.ResponseType.EXPIRED_TOKEN, "401", "unauthorized", "the credentials have expired"),
    "Denied": (apigateway.ResponseType.ACCESS_DENIED, "403", "forbidden", "IAM does not allow execute-api:Invoke here"),
}


def operations() -> list[str]:
    """Return what the API offers, as ``GET /jobs/{job_id}``: from its description, and what that leaves out.

    These are the explorer, MCP, and where to put a large file, which only a server that hands files over tells.
    """
    paths = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))["paths"]
    known = [f"{m.upper()} {path.rstrip('/')}" for path, methods in paths.items() for m in methods if m in _METHODS]
    return sorted({*known, *_PAGE, "POST /documents/upload-url", "POST /mcp", "GET /mcp", "DELETE /mcp"})


class ApiStack(Stack):
    """The HTTPS API of a deployment."""

    def __init__(self, scope: Construct, id_: str, deployment: Deployment, ingestion: IngestionStack) -> None:
        super().__init__(scope, id_)
        profile = deployment.profile
        usage_key = f"{profile.prefix}-all-tenants"  # meters, opens nothing: who may is the authorizer's word
        environment = {
            "LEXIGRAPH_WORKFLOW": ingestion.machine.state_machine_arn,
            "LEXIGRAPH_USAGE_KEYS": json.dumps({"*": usage_key}),
            "LEXIGRAPH_INGEST_ROOTS": "{}",  # files come by the bucket, none from the function's own disk
        }
        self.functions = self._asked(deployment, environment)
        self.broken_streams: list[cloudwatch.Metric] = []
        if profile.aws:
            self.functions |= self._streaming(deployment, environment)
            self.broken_streams = self._broken(profile)
        self._grant(deployment.data, ingestion)
        self.api = self._api(profile)
        self._metered = profile.aws  # the emulator takes the caller's key for that of the usage plan
        self._authorizer = self._asker()
        to = {job: self._integration(function) for job, function in self.functions.items() if job != "authorize"}
        self._routes(self.api, to)
        self._usage(usage_key)
        url = _url(self.api, profile)
        CfnOutput(self, "Url", value=url)
        CfnOutput(self, "Explorer", value=f"{url}explorer/")
        if profile.domain:
            self._name(profile)
        self.signed = self._signed(profile) if profile.iam else None
        if self.signed:
            self._routes(self.signed, to)
            CfnOutput(self, "SignedUrl", value=_url(self.signed, profile))
        if profile.web_firewall:
            self._firewall(profile)

    def _asked(self, deployment: Deployment, environment: Mapping[str, str]) -> dict[str, Function]:
        """Make the functions that answer whole. `manage` reads files, to tell what taking them in would cost."""

        def answering(seconds: int) -> dict[str, Any]:
            # who waits hears of it from the application, before the gateway gives up
            of_gateway = {"LEXIGRAPH_API_AUTH": "gateway", "LEXIGRAPH_API_DEADLINE": str(seconds - 3)}
            return {"environment": {**environment, **of_gateway}, "seconds": seconds}

        behind = {**answering(_SECONDS), "snap_start": True}
        layers, guided = extraction(self, deployment.profile)
        managing = {**behind, "environment": {**behind["environment"], **guided}}
        return {
            "authorize": Function(
                self, "authorize", deployment, environment=environment, memory=512, seconds=10, snap_start=True
            ),
            "query": Function(self, "query", deployment, **behind, memory=2_048, inside="stores"),
            "manage": Function(self, "manage", deployment, **managing, memory=1_024, files=True, layers=layers),
            "curate": Function(self, "curate", deployment, **answering(_DECIDE_SECONDS), memory=1_024, inside="stores"),
        }

    def _streaming(self, deployment: Deployment, environment: Mapping[str, str]) -> dict[str, Function]:
        """Make the functions that stream: the same application as a web server behind Lambda Web Adapter."""
        arn = f"arn:{Aws.PARTITION}:lambda:{Aws.REGION}:{_ADAPTER_ACCOUNT}:layer:LambdaAdapterLayerArm64"
        adapter = lambda_.LayerVersion.from_layer_version_arn(self, "Adapter", f"{arn}:{_ADAPTER_VERSION}")
        of_adapter = {
            "LEXIGRAPH_API_AUTH": "adapter",
            "AWS_LAMBDA_EXEC_WRAPPER": "/opt/bootstrap",
            "AWS_LWA_PORT": "8080",
            "AWS_LWA_INVOKE_MODE": "response_stream",
            "AWS_LWA_READINESS_CHECK_PATH": "/health",
        }
        behind: dict[str, Any] = {"layers": [adapter], "seconds": _STREAM_SECONDS, "handler": "functions/stream/run.sh"}
        streams = {**environment, **of_adapter}
        follows = {**streams, "LEXIGRAPH_API_FOLLOW": str(_FOLLOW_SECONDS)}
        return {
            "stream": Function(self, "stream", deployment, **behind, environment=streams, memory=2_048, inside="stores"),
            "follow": Function(self, "follow", deployment, **behind, environment=follows, memory=1_024),
        }

    def _broken(self, profile: Profile) -> list[cloudwatch.Metric]:
        """Return what counts streams that broke off, of which the gateway knows nothing: their status was sent before.

        Those that say so in their last event and in the log, and those whose function ended under them.
        """
        told = {"metric_namespace": f"Lexigraph/{profile.id}", "metric_name": "BrokenStreams"}
        pattern = logs.FilterPattern.literal(_BROKEN)
        found = [self.functions[job].metric_errors(statistic="Sum") for job in _STREAMING]
        for job in _STREAMING:
            broken = self.functions[job].log_group.add_metric_filter("Broken", filter_pattern=pattern, **told)
        return [broken.metric(statistic="Sum"), *found]

    def _grant(self, data: DataStack, ingestion: IngestionStack) -> None:
        """Give each function its rights: readers the stores, `curate` also to write them, others the ways to documents."""
        for job, function in self.functions.items():
            reads = job in ("query", "stream")
            graph: Rights = "write" if job == "curate" else "read" if reads else ""
            function.may(graph=graph, artefacts="read" if job == "query" else "", models=reads)
            if job in ("manage", "follow"):  # by the bucket, the state machine and the registry alone
                data.grant_objects(function.own_role, data.documents, write=True)
                ingestion.machine.grant_start_execution(function)

    def _api(self, profile: Profile) -> apigateway.RestApi:
        api = apigateway.RestApi(
            self,
            "Api",
            rest_api_name=profile.prefix,
            description="GraphRAG over the documents of a team",
            endpoint_configuration=self._reached(profile),
            policy=_by_endpoints(profile, iam.AnyPrincipal()) if profile.api_endpoints else None,
            api_key_source_type=apigateway.ApiKeySourceType.AUTHORIZER,
            binary_media_types=["multipart/form-data"],
            min_compression_size=Size.bytes(_COMPRESSED),
            cloud_watch_role=profile.aws,
            # a setting of the account and region: other deployments there go on logging by it when this one is gone
            cloud_watch_role_removal_policy=RemovalPolicy.RETAIN if profile.aws else None,
            deploy_options=self._stage(profile, "AccessLogs"),
        )
        _answer(api, _ERRORS)
        self._end_logs(api, profile, "ExecutionLogs")
        return api

    def _signed(self, profile: Profile) -> apigateway.RestApi:
        """Make the API that asks for a signature: of who may by IAM, in other accounts also by this policy."""
        others = [iam.AccountPrincipal(account) for account in profile.iam_accounts.split(",") if account]
        ours = [iam.AccountRootPrincipal()] if profile.api_endpoints else []  # whoever its own account lets, as without
        allowed = [*ours, *others]
        api = apigateway.RestApi(
            self,
            "Signed",
            rest_api_name=f"{profile.prefix}-iam",
            description="GraphRAG over the documents of a team, for who signs with IAM",
            endpoint_configuration=self._reached(profile),
            binary_media_types=["multipart/form-data"],
            min_compression_size=Size.bytes(_COMPRESSED),
            cloud_watch_role=False,  # the other one made it
            deploy_options=self._stage(profile, "SignedAccessLogs"),
            policy=_by_endpoints(profile, *allowed) if allowed else None,
        )
        api.deployment_stage.node.add_dependency(self.api.node.find_child("Account"))
        _answer(api, _SIGNED_ERRORS)
        self._end_logs(api, profile, "SignedExecutionLogs")
        return api

    def _reached(self, profile: Profile) -> apigateway.EndpointConfiguration:
        """Return from where an API is reached: the Internet, or endpoints of networks alone."""
        if not profile.api_endpoints:
            return apigateway.EndpointConfiguration(types=[apigateway.EndpointType.REGIONAL])
        endpoints: list[Any] = [
            self.node.try_find_child(id_)
            or ec2.InterfaceVpcEndpoint.from_interface_vpc_endpoint_attributes(self, id_, vpc_endpoint_id=id_, port=443)
            for id_ in profile.api_endpoints.split(",")
        ]
        return apigateway.EndpointConfiguration(types=[apigateway.EndpointType.PRIVATE], vpc_endpoints=endpoints)

    def _end_logs(self, api: apigateway.RestApi, profile: Profile, id_: str) -> None:
        """Make the group of a gateway's own log before the gateway would, as it does without an end."""
        if profile.aws:
            name = f"API-Gateway-Execution-Logs_{api.rest_api_id}/{STAGE}"
            api.deployment_stage.node.add_dependency(LogGroup(self, id_, days=profile.log_days, name=name))

    def _name(self, profile: Profile) -> None:
        """Give the API a name of its own, too, which somebody has to point at ``DomainTarget``."""
        certificate = acm.Certificate.from_certificate_arn(self, "Certificate", profile.certificate)
        name = self.api.add_domain_name(
            "Domain",
            domain_name=profile.domain,
            certificate=certificate,
            security_policy=apigateway.SecurityPolicy.TLS_1_2,
        )
        CfnOutput(self, "DomainTarget", value=name.domain_name_alias_domain_name)
        CfnOutput(self, "DomainUrl", value=f"https://{profile.domain}/")

    def _stage(self, profile: Profile, logs: str) -> apigateway.StageOptions:
        """Return how the stage limits and logs: who asked for which route, never what."""
        group = LogGroup(self, logs, days=profile.log_days)
        access = {
            "requestId": "$context.requestId",
            "at": "$context.requestTimeEpoch",
            "method": "$context.httpMethod",
            "route": "$context.resourcePath",
            "status": "$context.status",
            "milliseconds": "$context.responseLatency",
            "key": "$context.authorizer.key_id",
            "tenant": "$context.authorizer.tenant",
            "signer": "$context.identity.userArn",
        }
        method, path = QUESTIONS.split(" ")
        limits: dict[str, Any] = {
            "logging_level": apigateway.MethodLoggingLevel.ERROR if profile.aws else None,
            "data_trace_enabled": False,  # it would log questions and answers
            "throttling_rate_limit": 200,
            "throttling_burst_limit": 400,
        }
        measured = apigateway.MethodDeploymentOptions(metrics_enabled=True, **limits)
        return apigateway.StageOptions(
            stage_name=STAGE,
            access_log_destination=apigateway.LogGroupLogDestination(group) if profile.aws else None,
            access_log_format=apigateway.AccessLogFormat.custom(json.dumps(access)) if profile.aws else None,
            tracing_enabled=profile.aws,
            metrics_enabled=False,
            method_options={f"{path}/{method}": measured} if profile.aws else None,
            **limits,
        )

    def _asker(self) -> apigateway.RequestAuthorizer:
        return apigateway.RequestAuthorizer(
            self,
            "Authorizer",
            handler=self.functions["authorize"].target,
            identity_sources=[apigateway.IdentitySource.header("X-API-Key")],
            results_cache_ttl=Duration.seconds(_KEY_CACHE_SECONDS),
        )

    def _routes(self, api: apigateway.RestApi, to: Mapping[str, apigateway.LambdaIntegration]) -> None:
        chosen = {
            **dict.fromkeys(_MANAGED, "manage"),
            **dict.fromkeys(_DECIDED, "curate"),
            **dict.fromkeys(_STREAMED, "stream"),
            **dict.fromkeys(_FOLLOWED, "follow"),
        }
        for operation in operations():
            if api is not self.api and operation in _PAGE:
                continue  # a browser signs nothing
            job = chosen.get(operation, "query")
            instead = "manage" if job == "follow" else "query"  # where nothing can stream
            self._route(api, operation, to.get(job, to[instead]))
        self._route(api, "ANY /{proxy+}", to["query"])  # the API's own 404, and its documentation

    def _integration(self, function: Function) -> apigateway.LambdaIntegration:
        if function.job in _STREAMING:
            mode, longest = apigateway.ResponseTransferMode.STREAM, Duration.seconds(_STREAM_SECONDS)
            return apigateway.LambdaIntegration(function.target, response_transfer_mode=mode, timeout=longest)
        # one permission a function, not one a route: a policy has room for some twenty
        return apigateway.LambdaIntegration(function.target, scope_permission_to_method=False)

    def _route(self, api: apigateway.RestApi, operation: str, to: apigateway.Integration) -> None:
        method, path = operation.split(" ")
        if api is not self.api:
            kind = apigateway.AuthorizationType.IAM
            api.root.resource_for_path(path).add_method(method, to, authorization_type=kind)
            return
        closed = operation not in _OPEN
        api.root.resource_for_path(path).add_method(
            method,
            to,
            authorizer=self._authorizer if closed else None,
            authorization_type=None if closed else apigateway.AuthorizationType.NONE,
            api_key_required=closed and self._metered,
        )

    def _usage(self, value: str) -> None:
        plan = self.api.add_usage_plan(
            "Plan", throttle=apigateway.ThrottleSettings(rate_limit=100, burst_limit=200), description="All tenants"
        )
        plan.add_api_stage(stage=self.api.deployment_stage)
        plan.add_api_key(self.api.add_api_key("UsageKey", value=value, description="Meters; opens nothing"))

    def _firewall(self, profile: Profile) -> None:
        groups = ("AWSManagedRulesAmazonIpReputationList", "AWSManagedRulesKnownBadInputsRuleSet")
        acl = waf.CfnWebACL(
            self,
            "Firewall",
            scope="REGIONAL",
            default_action=waf.CfnWebACL.DefaultActionProperty(allow={}),
            visibility_config=_visible(profile.prefix),
            rules=[_rate_rule(), *(_group_rule(name, priority) for priority, name in enumerate(groups, 1))],
        )
        for name, api in (("Guarded", self.api), ("GuardedSigned", self.signed)):
            if api:
                waf.CfnWebACLAssociation(self, name, resource_arn=api.deployment_stage.stage_arn, web_acl_arn=acl.attr_arn)


def _by_endpoints(profile: Profile, *principals: iam.IPrincipal) -> iam.PolicyDocument:
    """Let principals ask an API, and nobody by another way than the endpoints where there are some."""
    of_all: dict[str, Any] = {"actions": ["execute-api:Invoke"], "resources": ["execute-api:/*"]}
    statements = [iam.PolicyStatement(principals=list(principals), **of_all)]
    if profile.api_endpoints:
        elsewhere = {"StringNotEquals": {"aws:SourceVpce": profile.api_endpoints.split(",")}}
        deny: dict[str, Any] = {"effect": iam.Effect.DENY, "principals": [iam.AnyPrincipal()], "conditions": elsewhere}
        statements.append(iam.PolicyStatement(**deny, **of_all))
    return iam.PolicyDocument(statements=statements)


def _url(api: apigateway.RestApi, profile: Profile) -> str:
    """Return the address of an API; of a private one that which also holds where the endpoint has no private names."""
    first = profile.api_endpoints.partition(",")[0]
    host = f"{api.rest_api_id}-{first}.execute-api.{Aws.REGION}.{Aws.URL_SUFFIX}"
    return f"https://{host}/{STAGE}/" if first else api.url


def _answer(api: apigateway.RestApi, errors: Mapping[str, tuple[apigateway.ResponseType, str, str, str]]) -> None:
    """Have the gateway's own errors told as all others are."""
    for name, (type_, status, code, message) in errors.items():
        body = json.dumps({"error": code, "message": message, "request_id": "$context.requestId"})
        api.add_gateway_response(name, type=type_, status_code=status or None, templates={"application/json": body})


def _rate_rule() -> waf.CfnWebACL.RuleProperty:
    """Return the rule that blocks an address with more than 6,000 requests in five minutes."""
    rate = waf.CfnWebACL.RateBasedStatementProperty(limit=6_000, aggregate_key_type="IP")
    return waf.CfnWebACL.RuleProperty(
        name="rate",
        priority=0,
        statement=waf.CfnWebACL.StatementProperty(rate_based_statement=rate),
        action=waf.CfnWebACL.RuleActionProperty(block={}),
        visibility_config=_visible("rate"),
    )


def _group_rule(name: str, priority: int) -> waf.CfnWebACL.RuleProperty:
    group = waf.CfnWebACL.ManagedRuleGroupStatementProperty(name=name, vendor_name="AWS")
    return waf.CfnWebACL.RuleProperty(
        name=name,
        priority=priority,
        statement=waf.CfnWebACL.StatementProperty(managed_rule_group_statement=group),
        override_action=waf.CfnWebACL.OverrideActionProperty(none={}),
        visibility_config=_visible(name),
    )


def _visible(name: str) -> waf.CfnWebACL.VisibilityConfigProperty:
    return waf.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name=name, sampled_requests_enabled=False
    )
