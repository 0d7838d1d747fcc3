"""A log group that ends: what it holds after some days, itself with its stack."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

_DAYS = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


class LogGroup(logs.LogGroup):
    """A log group that keeps what is written for some days. Raise ``ValueError`` for a number that CloudWatch knows not."""

    def __init__(self, scope: Construct, id_: str, *, days: int, name: str | None = None) -> None:
        if days not in _DAYS:
            raise ValueError(f"log_days {days}: use one of {', '.join(map(str, _DAYS))}")
        super().__init__(scope, id_, log_group_name=name, retention=_DAYS[days], removal_policy=RemovalPolicy.DESTROY)
