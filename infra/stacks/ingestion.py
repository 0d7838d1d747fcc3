"""Ingestion: from a change in the bucket to documents that readers see. Events -> queue -> `start` -> state machine."""

import json
from typing import Any

from aws_cdk import Aws, CfnOutput, Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from infra.constructs.batch_inference import BatchInference
from infra.constructs.extraction import extraction
from infra.constructs.function import Function
from infra.constructs.logs import LogGroup
from infra.deployment import Deployment, model_arns
from infra.settings import Profile
from infra.stacks.data import DataStack
from infra.state_machine import FUNCTIONS, definition

START_SECONDS = 60
TEND_HOURS = 6
TEND = {"action": "tend"}  # what the schedule tells `remove`
ATTEMPTS = 5  # of a message, before it lies in the dead-letter queue
_MEMORY = {"parse": 2_048, "chunk": 2_048, "extract": 1_024, "build": 2_048, "finish": 1_024, "remove": 1_024}
_STORING = ("build", "finish", "remove")  # who reaches graph and vectors
_READING = ("parse", "chunk")  # who reads strangers' files and needs nothing but buckets and registry
_CAPPED = ("extract", "build")  # who asks most of the models, and of the graph


class IngestionStack(Stack):
    """Takes in what is put into the bucket of documents, and takes out what is deleted there."""

    def __init__(self, scope: Construct, id_: str, deployment: Deployment) -> None:
        super().__init__(scope, id_)
        profile, data = deployment.profile, deployment.data
        self.steps = self._steps(deployment)
        self.machine = self._machine(profile, data)
        self.queue, self.dead = self._queues(data.key)
        self._note_changes(profile, data)
        self.start = self._start(deployment)
        self._note_ended(profile, data)
        self._tend()
        if profile.aws and model_arns(profile.llm):
            BatchInference(self, "Bulk", model=profile.llm, data=data)
        CfnOutput(self, "StateMachine", value=self.machine.state_machine_arn)

    def _steps(self, deployment: Deployment) -> dict[str, Function]:
        """Make the functions of the state machine, with what each of them needs."""
        # all of them, as an extractor is named by its file, and what it found is kept by that name
        layers, environment = extraction(self, deployment.profile)
        steps = {
            job: Function(
                self,
                job,
                deployment,
                memory=_MEMORY[job],
                seconds=900,
                inside="stores" if job in _STORING else "files" if job in _READING else "",
                files=job in _READING,
                layers=layers,
                environment=environment,
                scratch=2_048 if job == "parse" else 512,
                most=deployment.profile.reserve if job in _CAPPED else 0,
            )
            for job in FUNCTIONS
        }
        for job, step in steps.items():
            step.may(graph="write" if job in _STORING else "", artefacts="write", models=job in ("extract", "build"))
        if deployment.graph:
            deployment.graph.grant_load(steps["build"].own_role)
        data = deployment.data
        data.grant_objects(steps["parse"].own_role, data.documents, write=False)
        return steps

    def _machine(self, profile: Profile, data: DataStack) -> sfn.StateMachine:
        arns = {job: step.function_arn for job, step in self.steps.items()}
        name = profile.prefix
        # this prefix keeps the log policy short
        group = LogGroup(self, "WorkflowLogs", days=profile.log_days, name=f"/aws/vendedlogs/states/{name}")
        machine = sfn.StateMachine(
            self,
            "Workflow",
            state_machine_name=name,
            # not by CDK's own writer of JSON, which leaves out every null: `ResultPath: null` is what keeps a state's input
            definition_body=sfn.DefinitionBody.from_string(json.dumps(definition(arns, concurrency=profile.concurrency))),
            logs=sfn.LogOptions(destination=group, level=sfn.LogLevel.ALL, include_execution_data=False),
            tracing_enabled=profile.aws,
        )
        machine.add_to_role_policy(iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=sorted(arns.values())))
        data.grant_objects(machine.role, data.artefacts, write=False)  # the batches that the map runs over
        # a distributed map runs executions of the machine's own; its name is fixed, so that this is no circle
        own = f"arn:{Aws.PARTITION}:states:{Aws.REGION}:{Aws.ACCOUNT_ID}"
        machine.add_to_role_policy(
            iam.PolicyStatement(actions=["states:StartExecution"], resources=[f"{own}:stateMachine:{name}"])
        )
        machine.add_to_role_policy(
            iam.PolicyStatement(
                actions=["states:DescribeExecution", "states:StopExecution", "states:RedriveExecution"],
                # of a map's runs, in both forms that AWS documents
                resources=[f"{own}:execution:{name}/*", f"{own}:execution:{name}:*"],
            )
        )
        return machine

    def _queues(self, key: kms.IKey | None) -> tuple[sqs.Queue, sqs.Queue]:
        """Make the queue of changes, and that of what could not be done."""
        encrypted: dict[str, Any] = {
            "encryption": sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED,
            "encryption_master_key": key,
            "enforce_ssl": True,
        }
        dead = sqs.Queue(self, "DeadLetters", retention_period=Duration.days(14), **encrypted)
        changes = sqs.Queue(
            self,
            "Changes",
            visibility_timeout=Duration.seconds(6 * START_SECONDS),
            retention_period=Duration.days(4),
            dead_letter_queue=sqs.DeadLetterQueue(queue=dead, max_receive_count=ATTEMPTS),
            **encrypted,
        )
        return changes, dead

    def _note_changes(self, profile: Profile, data: DataStack) -> None:
        """Send what changes in the bucket of documents to the queue.

        The lifecycle of the bucket deletes old versions, which changes nothing; one that somebody gave it for documents
        themselves hides these, and is told.
        """
        expiry = "Lifecycle Expiration"
        for id_, kinds, detail in (
            ("Changed", ["Object Created", "Object Deleted"], {"reason": [{"anything-but": expiry}]}),
            ("Expired", ["Object Deleted"], {"reason": [expiry], "deletion-type": ["Delete Marker Created"]}),
        ):
            events.Rule(
                self,
                id_,
                description=f"{id_} in the bucket of documents",
                event_pattern=events.EventPattern(
                    source=["aws.s3"], detail_type=kinds, detail={"bucket": {"name": [data.documents.bucket_name]}, **detail}
                ),
                targets=[targets.SqsQueue(self.queue, dead_letter_queue=self.dead if profile.aws else None)],
            )

    def _start(self, deployment: Deployment) -> Function:
        """Make the function that begins a run for each change in the queue."""
        data = deployment.data
        environment = {
            "LEXIGRAPH_WORKFLOW": self.machine.state_machine_arn,
            "LEXIGRAPH_IDEMPOTENCY_TABLE": data.started.table_name,
        }
        start = Function(self, "start", deployment, environment=environment, memory=512, seconds=START_SECONDS)
        start.add_event_source(
            sources.SqsEventSource(
                self.queue,
                batch_size=10,
                report_batch_item_failures=True,
                max_concurrency=5 if deployment.profile.aws else None,
            )
        )
        start.may()
        data.grant_objects(start.own_role, data.documents, write=False)
        data.grant_started(start.own_role)
        self.machine.grant_start_execution(start)
        return start

    def _note_ended(self, profile: Profile, data: DataStack) -> None:
        """Tell `finish` of executions that ended without having said why: aborted, timed out, or lost.

        What EventBridge cannot hand over, and what `finish` fails at three times, becomes a dead letter.
        """
        finish = self.steps["finish"]
        if profile.aws:
            lambda_.CfnEventInvokeConfig(
                self,
                "Untold",
                function_name=finish.function_name,
                qualifier="$LATEST",
                maximum_retry_attempts=2,
                destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
                    on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(destination=self.dead.queue_arn)
                ),
            ).node.add_dependency(finish.own_role)  # with its rights, which Lambda looks at when it is made
            send = iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self.dead.queue_arn])
            for statement in (send, *data.key_statements("sqs")):
                finish.own_role.add_to_principal_policy(statement)
        events.Rule(
            self,
            "Ended",
            description="Executions of the workflow that ended badly",
            event_pattern=events.EventPattern(
                source=["aws.states"],
                detail_type=["Step Functions Execution Status Change"],
                detail={
                    "stateMachineArn": [self.machine.state_machine_arn],
                    "status": ["FAILED", "TIMED_OUT", "ABORTED"],
                },
            ),
            targets=[targets.LambdaFunction(finish, dead_letter_queue=self.dead if profile.aws else None)],
        )

    def _tend(self) -> None:
        """Have what killed writers left taken away, also where nobody takes anything in. One call missed is no matter."""
        events.Rule(
            self,
            "Tend",
            description="Takes away what writers left that lost their leases",
            schedule=events.Schedule.rate(Duration.hours(TEND_HOURS)),
            targets=[targets.LambdaFunction(self.steps["remove"], event=events.RuleTargetInput.from_object(TEND))],
        )
