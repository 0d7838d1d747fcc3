"""Which items of the registry's table a function may read and write, by patterns of partition keys: plain data, no CDK.

What lies under which key: :mod:`lexigraph.storage.dynamodb.registry` and :mod:`lexigraph.storage.dynamodb.cache`. API keys
are `system#key#...`, `system#keyid#...` and `t#TENANT#keys`. No function writes these: `lexigraph keys` does, with the
credentials of an operator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_READ = ("GetItem", "BatchGetItem", "Query")
_NOTE = ("PutItem", "UpdateItem")
_ADD = (*_NOTE, "BatchWriteItem")
_WRITE = (*_ADD, "DeleteItem", "ConditionCheckItem")

_OF_TENANTS = ("t#*",)  # no name of a tenant has a #, so that a pattern with two more of them never means its list of keys
_KEYS = ("system#key#*",)
_SIGNERS = ("system#key#iam#*",)  # for whom a signature stands; of these the application looks the key up
_SEEN = ("t#*#session#*", "t#*#ordinals#*")  # what recalls have shown, and the places of sources in hop-by-hop answers
_RUN = ("t#*#job#*", "system#running", "t#*#claim#*")
_NEW_JOB = (*_RUN, "t#*#jobs", "t#*#meta")
_RESULTS = ("t#*#entry#*", "t#*#entries#*", "t#*#waiting#*")
_LATE = "system#late"  # whose leases were taken before they gave them back
_DOCUMENTS = ("t#*#meta", "t#*#doc#*", "t#*#uris", "t#*#uris-of#*", "t#*#lease#*", _LATE)
# decisions, the lease of that name, and that of who settles entities
_CURATED = ("t#*#curation", "t#*#lease#collector")
_ALL_OF_DOCUMENTS = (*_RUN, *_DOCUMENTS, *_RESULTS, "t#*#owners#*")
_WRITTEN: Mapping[str, tuple[str, ...]] = {
    "parse": _RUN,
    "chunk": _RUN,
    "extract": (*_RUN, *_RESULTS),
    "build": (*_ALL_OF_DOCUMENTS, "t#*#jobs"),  # it begins the job of records that are embedded anew
    "finish": _ALL_OF_DOCUMENTS,
    "remove": _ALL_OF_DOCUMENTS,
    "start": _NEW_JOB,
    "manage": _NEW_JOB,
    "follow": _NEW_JOB,
    "curate": (*_CURATED, "t#*#meta", _LATE),
    "query": _SEEN,
    "stream": _SEEN,
    "authorize": (),
    "bulk": _RESULTS,  # no function: whoever runs `lexigraph bulk`
}
_BY = {"query": _NOTE, "stream": _NOTE, "curate": _ADD}  # others change items by any of these actions
_ASKED = ("query", "manage", "curate", "stream", "follow")
# what documents are known to yield, and which names are split in them: by these the documents that changed are found
_CHANGED = ("t#*#doc#*", "t#*#uris-of#*", "t#*#curation")
# others read all items of tenants
_READ_ALONE = {"authorize": _KEYS, "curate": _CURATED, "bulk": ("t#*#entry#*", *_CHANGED)}


@dataclass(frozen=True)
class RegistryRight:
    """Actions of DynamoDB, and the patterns of the partition keys that they may name."""

    actions: Sequence[str]
    keys: Sequence[str]


def rights(job: str, *, signed: bool = False) -> list[RegistryRight]:
    """Return what a function may do with the registry; ``signed``: where callers sign with IAM, too.

    Raise ``KeyError`` for one that is not known here.
    """
    written = _WRITTEN[job]
    late = (_LATE,) if _LATE in written else ()
    signers = _SIGNERS if signed and job in _ASKED else ()
    reads = RegistryRight(_READ, (*_READ_ALONE.get(job, (*_OF_TENANTS, *late)), *signers))
    changes = _BY.get(job, _WRITE)
    return [reads, RegistryRight(changes, written)] if written else [reads]
