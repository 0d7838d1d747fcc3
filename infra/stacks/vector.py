"""Vector: an OpenSearch Serverless collection of the next generation, which costs nothing while nobody asks."""

from aws_cdk import Aws, CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_opensearchserverless as aoss
from constructs import Construct

from infra.settings import Profile
from infra.stacks.network import NetworkStack

READ = ("aoss:DescribeIndex", "aoss:ReadDocument")
WRITE = (*READ, "aoss:CreateIndex", "aoss:UpdateIndex", "aoss:WriteDocument")
# of the collection: collections of the next generation ask for it, too, when an index is made
MAKE = ("aoss:CreateCollectionItems", "aoss:DescribeCollectionItems")


class VectorStack(Stack):
    """The vector store. Three locks: the network policy (our endpoint only), a data policy a role, and IAM."""

    def __init__(self, scope: Construct, id_: str, profile: Profile, network: NetworkStack, key: kms.IKey) -> None:
        super().__init__(scope, id_)
        self.name = profile.prefix
        group = self._group(profile)
        self.collection = aoss.CfnCollection(
            self,
            "Collection",
            name=self.name,
            type="VECTORSEARCH",
            collection_group_name=group.name,
            standby_replicas=group.standby_replicas,
            deletion_protection="ENABLED" if profile.keep_data else None,
            description="Vectors and full text of Lexigraph",
        )
        needed = (*self._locks(network, key), group)
        for resource in needed:
            self.collection.add_resource_dependency(resource)
        # what a collection needs cannot go while it stays; what a first deployment could not finish is in nobody's way
        kept = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if profile.keep_data else RemovalPolicy.DESTROY
        for resource in (self.collection, *needed):
            resource.apply_removal_policy(kept)
        options = f"region={Aws.REGION}&indexes={profile.vector_indexes}"
        self.connection = f"aoss://{self.collection.attr_collection_endpoint}?{options}"
        CfnOutput(self, "CollectionId", value=self.collection.ref)

    def grant(self, grantee: iam.IRole, *, write: bool, name: str) -> None:
        """Let a role read the indexes, or also write them; ``name`` tells the data policy apart, 3 to 32 characters.

        The policy belongs to the stack of the role, which depends on this one and not the other way round.
        """
        grantee.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(actions=["aoss:APIAccessAll"], resources=[self.collection.attr_arn])
        )
        rules = [
            {"ResourceType": "index", "Resource": [f"index/{self.name}/*"], "Permission": list(WRITE if write else READ)}
        ]
        if write:
            whole = {"ResourceType": "collection", "Resource": [f"collection/{self.name}"], "Permission": list(MAKE)}
            rules.append(whole)
        policy = [{"Rules": rules, "Principal": [grantee.role_arn]}]
        stack = Stack.of(grantee)
        aoss.CfnAccessPolicy(
            stack, f"Vectors{name.title()}", name=f"{self.name}-{name}", type="data", policy=stack.to_json_string(policy)
        )

    def _locks(self, network: NetworkStack, key: kms.IKey) -> list[aoss.CfnSecurityPolicy]:
        """Return the policies that a collection needs before it is made: whose key it has, from where it is reached."""
        rule = {"ResourceType": "collection", "Resource": [f"collection/{self.name}"]}
        encryption = {"Rules": [rule], "AWSOwnedKey": False, "KmsARN": key.key_arn}
        access = [{"Rules": [rule], "AllowFromPublic": False, "SourceVPCEs": [network.collections_endpoint]}]
        return [
            aoss.CfnSecurityPolicy(self, id_, name=self.name, type=type_, policy=self.to_json_string(policy))
            for id_, type_, policy in (("Encryption", "encryption", encryption), ("Access", "network", access))
        ]

    def _group(self, profile: Profile) -> aoss.CfnCollectionGroup:
        """Make the group, by which a collection is of the next generation, with what it may use at most."""
        return aoss.CfnCollectionGroup(
            self,
            "Group",
            name=self.name,
            generation="NEXTGEN",
            standby_replicas="ENABLED",  # the next generation knows nothing else
            capacity_limits=aoss.CfnCollectionGroup.CapacityLimitsProperty(
                max_indexing_capacity_in_ocu=profile.vector_units, max_search_capacity_in_ocu=profile.vector_units
            ),
        )
