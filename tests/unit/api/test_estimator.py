"""What the process that reads strangers' files is given."""

from lexigraph.api.estimator import without_credentials


def test_who_reads_strangers_files_has_no_credentials() -> None:
    kept = {"PATH": "/bin", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
    given = ("AWS_SESSION_TOKEN", "AWS_PROFILE", "OPENAI_API_KEY", "OLLAMA_API_KEY", "GITHUB_TOKEN", "PGPASSWORD")
    assert without_credentials({**kept, **dict.fromkeys(given, "s3cret")}) == kept
