"""Observability: one dashboard, the alarms that somebody has to act on, and a budget."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from aws_cdk import Aws, CfnOutput, Duration, Stack
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.constructs.function import Function
from infra.deployment import Deployment
from infra.stacks.api import QUESTIONS, ApiStack
from infra.stacks.graph import GraphStack
from infra.stacks.ingestion import IngestionStack
from infra.stacks.vector import VectorStack

_FIVE_MINUTES = Duration.minutes(5)
P95_MILLISECONDS = 5_000


class ObservabilityStack(Stack):
    """What an operator looks at. What to do about each alarm: docs/operate.md, by the alarm's name."""

    def __init__(self, scope: Construct, id_: str, deployment: Deployment, ingestion: IngestionStack, api: ApiStack) -> None:
        super().__init__(scope, id_)
        self._profile = profile = deployment.profile
        key = deployment.data.key
        self.topic = sns.Topic(self, "Alarms", master_key=key, enforce_ssl=True, display_name=f"Lexigraph {profile.id}")
        alarms = iam.ServicePrincipal("cloudwatch.amazonaws.com")
        ours = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        # a topic with a policy of its own has lost the one by which alarms of the account may publish
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["sns:Publish"],
                principals=[alarms],
                resources=[self.topic.topic_arn],
                conditions=ours,
            )
        )
        if key:
            cloudwatch_may = iam.PolicyStatement(
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                principals=[alarms],
                resources=["*"],  # of a key's own policy: the key itself
                conditions=ours,
            )
            key.add_to_resource_policy(cloudwatch_may)
        if profile.alarm_email:
            self.topic.add_subscription(subscriptions.EmailSubscription(profile.alarm_email))
        CfnOutput(self, "AlarmTopic", value=self.topic.topic_arn)
        # dashboards and budgets are the account's, not the region's
        self._name = f"{profile.prefix}-{Aws.REGION}"
        self._board = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=self._name)
        self._ingestion(ingestion)
        self._api(api)
        self._functions([*ingestion.steps.values(), ingestion.start, *api.functions.values()])
        self._models()
        if deployment.graph:
            self._graph(deployment.graph)
        if deployment.vectors:
            self._vectors(deployment.vectors)
        if profile.budget and profile.aws:
            self._budget()

    def _ingestion(self, ingestion: IngestionStack) -> None:
        dead = ingestion.dead.metric_approximate_number_of_messages_visible(statistic="Maximum")
        oldest = ingestion.queue.metric_approximate_age_of_oldest_message(statistic="Maximum")
        failed = ingestion.machine.metric_failed(statistic="Sum")
        late = ingestion.machine.metric_timed_out(statistic="Sum")
        # what the schedule asks for belongs to no job, and nobody waits for notices of ended runs; Lambda tries three times
        dropped = {
            job: ingestion.steps[job].metric("AsyncEventsDropped", statistic="Sum", period=_FIVE_MINUTES)
            for job in ("remove", "finish")
        }
        self._alarm("DeadLetters", dead, 1, "a change could not be begun")
        # the emulator knows no alarm over several metrics
        several = self._profile.aws
        runs = _sum({"m0": failed, "m1": late}) if several else failed
        untended = _sum({"m0": dropped["remove"], "m1": dropped["finish"]}) if several else dropped["remove"]
        self._alarm("FailedRuns", runs, 1, "a document could not be ingested")
        self._alarm("OldChanges", oldest, 900, "changes wait longer than 15 minutes", periods=2)
        self._alarm("Untended", untended, 1, "the clean-up, or the notice of a run that ended, failed three times")
        watched = {"dead letters": dead, "oldest change, seconds": oldest, "failed runs": failed, "timed out runs": late}
        self._show("Ingestion", watched)

    def _api(self, api: ApiStack) -> None:
        stage = api.api.deployment_stage.stage_name
        metric = partial(_metric, "AWS/ApiGateway", ApiName=api.api.rest_api_name, Stage=stage)
        # of all requests together, a client that follows a job for minutes would be the slowest
        method, path = QUESTIONS.split(" ")
        p50, p95 = (metric("Latency", percentile, Method=method, Resource=path) for percentile in ("p50", "p95"))
        self._alarm("SlowAnswers", p95, P95_MILLISECONDS, "one of twenty answers takes more than 5 s", periods=3)
        failed: cloudwatch.IMetric = metric("5XXError", "Sum")
        if api.signed:  # that for who signs with IAM counts, too
            failed = _sum({"m0": failed, "m1": metric("5XXError", "Sum", ApiName=api.signed.rest_api_name)})
        self._alarm("FailedRequests", failed, 5, "the API fails", periods=2)
        if api.broken_streams:
            broken = _sum({f"m{n}": metric for n, metric in enumerate(api.broken_streams)})
            self._alarm("BrokenStreams", broken, 5, "streamed answers break off", periods=2)
        self._show("Requests", {"requests": metric("Count", "Sum"), "4xx": metric("4XXError", "Sum")})
        self._show(f"Latency of {QUESTIONS}, ms", {"p50": p50, "p95": p95})

    def _functions(self, functions: list[Function]) -> None:
        throttled = {f.job: f.metric_throttles(statistic="Sum", period=_FIVE_MINUTES) for f in functions}
        failed = {f.job: f.metric_errors(statistic="Sum", period=_FIVE_MINUTES) for f in functions}
        self._show("Functions: throttled", throttled)
        self._show("Functions: errors", failed)
        if not self._profile.aws:
            return  # as above
        for at, part in enumerate((functions[:9], functions[9:])):  # an alarm adds up ten metrics at most
            # a function with a limit of its own is refused whenever there is more to do than that
            total = _sum({f"m{n}": throttled[f.job] for n, f in enumerate(part) if not f.most})
            self._alarm(f"Throttled{at + 1}", total, 5, "functions are throttled", periods=2)

    def _models(self) -> None:
        names = ("Invocations", "InvocationThrottles", "InputTokenCount", "OutputTokenCount")
        metrics = {name: _metric("AWS/Bedrock", name, "Sum") for name in names}
        throttled: cloudwatch.IMetric = metrics["InvocationThrottles"]
        if models := self._profile.of_bedrock:
            # its guide has figures of each model; that there are those of all together, it says of others alone
            each = {
                f"m{n}": _metric("AWS/Bedrock", "InvocationThrottles", "Sum", ModelId=m) for n, m in enumerate(models, 1)
            }
            throttled = _of("MAX", {"m0": throttled, **each})
            metrics |= {f"throttled: {model}": metric for model, metric in zip(models, each.values(), strict=True)}
        self._alarm("ModelThrottled", throttled, 50, "Bedrock throttles", periods=3)
        self._show("Bedrock", metrics)

    def _graph(self, graph: GraphStack) -> None:
        metric = partial(_metric, "AWS/Neptune", DBClusterIdentifier=graph.cluster.ref)
        full = 0.9 * self._profile.neptune_max
        # that of the cluster is the average of its instances, which stays low while the readers are full and the writer idle
        roles = ("WRITER", "READER") if self._profile.neptune_readers else ("WRITER",)
        capacities = {role: metric("ServerlessDatabaseCapacity", "Average", Role=role) for role in roles}
        fullest = _of("MAX", {f"m{n}": of_role for n, of_role in enumerate(capacities.values())})
        self._alarm("GraphFull", fullest, full, "the graph is near its largest capacity", periods=6)
        queue = metric("MainRequestQueuePendingRequests", "Maximum")
        self._alarm("GraphQueue", queue, 50, "requests wait for the graph", periods=3)
        units = {f"capacity units, {role.lower()}": of_role for role, of_role in capacities.items()}
        self._show("Neptune", {**units, "waiting": queue})
        if graph.missed:
            missed = _metric("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", QueueName=graph.missed)
            self._alarm("GraphHours", missed, 1, "the graph was not started or stopped in time")

    def _vectors(self, vectors: VectorStack) -> None:
        of = {"CollectionName": vectors.name, "CollectionId": vectors.collection.ref, "ClientId": Aws.ACCOUNT_ID}
        errors = _metric("AWS/AOSS", "SearchRequestErrors", "Sum", **of)
        self._alarm("VectorErrors", errors, 10, "searches fail", periods=2)
        # published as an average of each minute, so that there are no percentiles of it
        latency = _metric("AWS/AOSS", "SearchRequestLatency", "Average", **of)
        self._show("OpenSearch", {"latency, ms": latency, "errors": errors})

    def _alarm(self, name: str, metric: cloudwatch.IMetric, threshold: float, says: str, *, periods: int = 1) -> None:
        alarm = cloudwatch.Alarm(
            self,
            name,
            alarm_name=f"{self._profile.prefix}-{name}",
            alarm_description=f"{says}; what to do: docs/operate.md, {name}",
            metric=metric,
            threshold=threshold,
            evaluation_periods=periods,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))

    def _show(self, title: str, metrics: dict[str, Any]) -> None:
        lines = [metric.with_(label=label) for label, metric in metrics.items()]
        self._board.add_widgets(cloudwatch.GraphWidget(title=title, left=lines, width=12))

    def _budget(self) -> None:
        email = self._profile.alarm_email
        notifications = [
            budgets.CfnBudget.NotificationWithSubscribersProperty(
                notification=budgets.CfnBudget.NotificationProperty(
                    notification_type=kind, comparison_operator="GREATER_THAN", threshold=share
                ),
                subscribers=[budgets.CfnBudget.SubscriberProperty(subscription_type="EMAIL", address=email)],
            )
            for kind, share in (("ACTUAL", 80), ("FORECASTED", 100))
        ]
        budgets.CfnBudget(
            self,
            "Budget",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_name=self._name,
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=self._profile.budget, unit="USD"),
                cost_filters={"TagKeyValue": [f"user:lexigraph${self._profile.id}"]},
            ),
            notifications_with_subscribers=notifications if email else None,
        )


def _metric(namespace: str, name: str, statistic: str, **dimensions: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dimensions or None,
        statistic=statistic,
        period=_FIVE_MINUTES,
    )


def _sum(metrics: Mapping[str, cloudwatch.IMetric]) -> cloudwatch.MathExpression:
    return _of("SUM", metrics)


def _of(what: str, metrics: Mapping[str, cloudwatch.IMetric]) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(expression=f"{what}(METRICS())", using_metrics=metrics, period=_FIVE_MINUTES)
