"""What of a query is looked for literally, and what texts are worth that hold it."""

import pytest

from lexigraph.retrieval.recall.identifiers import identifiers

NAMED = [
    "What does UserKnownHostsFile default to?",
    "max_user_watches",
    "Is SIGPIPE ignored?",
    "Where is /etc/fstab read?",
    "edit ~/.ssh/config",
    "docs/guide/setup.md is old",
    "Which release fixed CVE-2023-25652?",
    "changes of 2.38.5",
    "is v1.2 out?",
    "what happened on 2024-03-01",
    "how does --exclude-from work",
    "what is curl -L",
    'who says "no such device"?',
    "the option 'keep alive' of it",
    "epoll_wait(2) returns",
    "see https://example.org/a",
    "write to ops@example.org",
    "open settings.toml",
    "what is SystemMaxUse=",
    "ssh with HostKeyChecking=no",
    "x86_64 or sha256",
]
PLAIN = [
    "Who owns the ferry?",
    "Is it TCP/IP and/or UDP?",
    "How do I list the contents of a tar archive?",
    "Don't the captain's orders count?",
    "What happened in 1998?",
    "the 3rd of 20",
    "e.g. this one, i.e. that",
    "Why? Because! (Really.)",
    "Petter Reinholdtsen",
]


@pytest.mark.requirement("M-10")
@pytest.mark.parametrize("query", NAMED)
def test_identifiers_paths_versions_options_and_quotations_are_looked_for_as_they_are(query: str) -> None:
    assert identifiers(query) is not None


@pytest.mark.parametrize("query", PLAIN)
def test_plain_words_are_not(query: str) -> None:
    assert identifiers(query) is None


def worth(query: str, *texts: str) -> list[float]:
    found = identifiers(query)
    assert found is not None
    assert all(
        (found.pattern.share(text) > 0) == (score > 0) for text, score in zip(texts, found.scores(texts), strict=True)
    )
    return found.scores(texts)


def test_an_identifier_that_stands_alone_is_exact_and_a_part_of_a_longer_one_is_less() -> None:
    texts = ("the option HostsFile is old", "set UserHostsFile", "hosts and files", "HOSTSFILE=none")
    assert worth("What does HostsFile do?", *texts) == [1.0, 0.6, 0.0, 1.0]


def test_a_version_is_found_behind_its_v_and_not_in_a_longer_one() -> None:
    assert worth("what is new in 2.38.5", "Release v2.38.5 notes", "2.38.5.", "12.38.57") == [1.0, 1.0, 0.6]


def test_an_option_of_one_letter_has_its_own_case() -> None:
    assert worth("what is -L for", "use -L to follow", "use -l to list", "-L", "a-L", "--Long") == [1.0, 0.0, 1.0, 0.0, 0.0]


def test_of_a_longer_query_what_many_texts_hold_counts_less() -> None:
    texts = [f"line {n} of node.js" for n in range(40)] + ["--rare-flag of node.js"]
    scores = worth("what does --rare-flag of node.js do", *texts)
    assert scores[-1] == 1.0
    assert scores[0] == pytest.approx(20 / 41)
    assert worth("node.js", *texts) == [1.0] * 41
