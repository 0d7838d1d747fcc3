"""Network: a VPC without a way to the Internet, or one that is there, and the endpoints by which its functions reach AWS."""

from aws_cdk import Aws, CfnOutput, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.constructs.logs import LogGroup
from infra.settings import ZONES, Profile

_GATEWAYS = {"S3": ec2.GatewayVpcEndpointAwsService.S3, "DynamoDb": ec2.GatewayVpcEndpointAwsService.DYNAMODB}


class NetworkStack(Stack):
    """Where graph and vectors can be reached from, and where files are read; nothing else.

    There is no NAT gateway and no public subnet, and endpoints lead to this account alone: S3 and DynamoDB to what it has,
    the others only who belongs to it. Of a network that was there already, whoever has it decides where its routes lead.
    """

    def __init__(self, scope: Construct, id_: str, profile: Profile) -> None:
        super().__init__(scope, id_)
        self.vpc = self._existing(profile) if profile.vpc else self._own(profile)
        self.functions = ec2.SecurityGroup(
            self, "Functions", vpc=self.vpc, description="Functions that reach the stores", allow_all_outbound=False
        )
        self.files = ec2.SecurityGroup(
            self, "Files", vpc=self.vpc, description="Functions that read files", allow_all_outbound=False
        )
        self.endpoints = ec2.SecurityGroup(
            self, "Endpoints", vpc=self.vpc, description="Endpoints of AWS services", allow_all_outbound=False
        )
        self.graph = ec2.SecurityGroup(self, "Graph", vpc=self.vpc, description="Neptune", allow_all_outbound=False)
        https = ec2.Port.tcp(443)
        self.endpoints.add_ingress_rule(self.functions, https, "functions")
        self.functions.add_egress_rule(self.endpoints, https, "endpoints of AWS services")
        self.functions.add_egress_rule(self.graph, ec2.Port.tcp(8182), "Neptune")
        self.graph.add_ingress_rule(self.functions, ec2.Port.tcp(8182), "functions")
        # gateway endpoints are reached by the public addresses of the service, which routes keep inside AWS
        for group in (self.functions, self.files):
            group.add_egress_rule(ec2.Peer.any_ipv4(), https, "S3 and DynamoDB by their gateway endpoints")
        # the bulk loader reads from S3 by the way that functions take
        self.graph.add_egress_rule(ec2.Peer.any_ipv4(), https, "S3 by its gateway endpoint")
        self._profile = profile
        if profile.endpoints == "own":
            for name, service in _GATEWAYS.items():
                # nothing needs a bucket of AWS here: Lambda brings code and layers itself, Neptune loads from our bucket
                _only(self.vpc.add_gateway_endpoint(name, service=service), "aws:ResourceAccount")
            self._endpoint("BedrockRuntime", ec2.InterfaceVpcEndpointAwsService.BEDROCK_RUNTIME)
            if profile.reranks:
                self._endpoint("BedrockRerank", ec2.InterfaceVpcEndpointAwsService.BEDROCK_AGENT_RUNTIME)
        # collections of the next generation are at on.aws, which OpenSearch's own kind of endpoint does not lead to
        self.collections_endpoint = (
            profile.collections_endpoint
            or self._endpoint("Collections", ec2.InterfaceVpcEndpointAwsService("aoss-data")).vpc_endpoint_id
        )
        if not profile.vpc:  # who has the network has its flow logs
            self._log_flows(profile)
        CfnOutput(self, "VpcId", value=self.vpc.vpc_id)
        CfnOutput(self, "FunctionsGroup", value=self.functions.security_group_id)

    def _own(self, profile: Profile) -> ec2.IVpc:
        return ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr("10.42.0.0/20"),
            availability_zones=profile.zones.split(",") if profile.zones else None,
            max_azs=None if profile.zones else ZONES,
            nat_gateways=0,
            restrict_default_security_group=False,  # needs a function of its own; nothing uses that group
            subnet_configuration=[
                ec2.SubnetConfiguration(name="inside", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=24)
            ],
        )

    def _existing(self, profile: Profile) -> ec2.IVpc:
        """Return the network that the profile names."""
        subnets, tables = profile.subnets.split(","), [table for table in profile.route_tables.split(",") if table]
        return ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            vpc_id=profile.vpc,
            # asked for, and used by nothing: what the zones are is the subnets' matter
            availability_zones=[f"zone-of-{subnet}" for subnet in subnets],
            isolated_subnet_ids=subnets,
            isolated_subnet_route_table_ids=(tables if len(tables) > 1 else tables * len(subnets)) or None,
        )

    def _endpoint(self, name: str, service: ec2.InterfaceVpcEndpointAwsService) -> ec2.InterfaceVpcEndpoint:
        """Make an endpoint: a zone costs as much as the next one, and functions of the others reach it, too."""
        zones = ec2.SubnetSelection(subnets=self.vpc.isolated_subnets[: self._profile.endpoint_zones])
        made = self.vpc.add_interface_endpoint(
            name, service=service, subnets=zones, security_groups=[self.endpoints], open=False
        )
        # models belong to AWS, so that it is the caller who tells what is ours
        _only(made, "aws:PrincipalAccount")
        return made

    def _log_flows(self, profile: Profile) -> None:
        group = LogGroup(self, "Flows", days=30)
        ours = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        logging = iam.ServicePrincipal("vpc-flow-logs.amazonaws.com", conditions=ours)
        role = iam.Role(self, "FlowLogRole", assumed_by=logging)
        self.vpc.add_flow_log(
            "FlowLog",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(group, role),
            traffic_type=ec2.FlowLogTrafficType.ALL if profile.keep_data else ec2.FlowLogTrafficType.REJECT,
        )


def _only(endpoint: ec2.GatewayVpcEndpoint | ec2.InterfaceVpcEndpoint, key: str) -> None:
    """Let an endpoint pass only what is this account's by a key of conditions, whatever credentials it comes with."""
    endpoint.add_to_policy(
        iam.PolicyStatement(
            principals=[iam.StarPrincipal()],  # the one way to write it that gateway endpoints take
            actions=["*"],
            resources=["*"],
            conditions={"StringEquals": {key: Aws.ACCOUNT_ID}},
        )
    )
