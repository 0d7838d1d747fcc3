"""Bad input through the command line: one clear line each, the right exit code, and the rest goes on."""

import resource
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lexigraph.cli.exits import ExitCode
from tests.disks import files_of_at_most, ordinary_user
from tests.e2e.commandline import apart, here
from tests.workers import write_corpus

GOOD = "# Harbour Office\n\nThe Harbour Office runs Lighthouse. Mira Holm leads the Harbour Office in Antwerp.\n"
LATIN_1 = "Renée Müller leads the café in Besançon. The café was built by José Muñoz."


# ---------------------------------------------------------------- files that cannot be ingested


def missing(folder: Path) -> Path:
    return folder / "missing.md"


def encrypted_pdf(folder: Path) -> Path:
    from pypdf import PdfWriter

    path = folder / "encrypted.pdf"
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="AES-256")
    writer.write(path)
    return path


def docx_bomb(folder: Path, megabytes: int = 30) -> Path:
    path = folder / "bomb.docx"
    archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with archive, archive.open("word/document.xml", "w", force_zip64=True) as part:
        for _ in range(megabytes):
            part.write(b" " * 1_000_000)
    return path


def huge(folder: Path) -> Path:
    path = folder / "huge.txt"
    with path.open("wb") as file:
        file.truncate(200_000_000)  # takes no room on the disk
    return path


def link_to_itself(folder: Path) -> Path:
    path = folder / "link.md"
    path.symlink_to(path)
    return path


BAD_FILES: dict[str | Callable[[Path], Path], str] = {
    missing: "does not exist",
    "empty.md": "is empty",
    "blank.txt": "no text",
    "binary.txt": "is binary, not text",
    "video.mp4": "has an unsupported type",
    "broken.pdf": "is damaged",
    encrypted_pdf: "is encrypted: save it without a password",
    docx_bomb: "max_archive_",
    "broken.docx": "is damaged",
    "broken.json": "JSON",
    huge: "200,000,000 bytes, the limit is 100,000,000 (max_file_bytes)",
    "corpus.jsonl.gz": "is damaged",
    link_to_itself: "cannot be read",
}
CONTENTS = {
    "empty.md": b"",
    "blank.txt": b" \n\n\t\n",
    "binary.txt": bytes(range(256)) * 40,
    "video.mp4": b"moov",
    "broken.pdf": b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\nxref\nbroken off here",
    "broken.docx": b"PK\x03\x04 and then nothing of a document",
    "broken.json": b'{"title": "Harbour", "text": ',
    "corpus.jsonl.gz": b"\x1f\x8b\x08\x00 is no gzip",
}


def bad_file(bad: str | Callable[[Path], Path], folder: Path) -> Path:
    if not isinstance(bad, str):
        return bad(folder)
    path = folder / bad
    path.write_bytes(CONTENTS[bad])
    return path


@pytest.mark.parametrize("bad", BAD_FILES, ids=lambda bad: bad if isinstance(bad, str) else bad.__name__)
def test_a_bad_file_is_one_line_that_names_it(bad: str | Callable[[Path], Path], tmp_path: Path) -> None:
    path = bad_file(bad, tmp_path)

    told = here("--data", tmp_path / "data", "ingest", path, "--no-progress")

    assert told.code == ExitCode.NOTHING
    assert len(told.complaints) == 1
    assert told.err.startswith(f"failed: {path}: ")
    assert BAD_FILES[bad].lower() in told.err.lower()
    assert "0 new, 0 updated, 0 unchanged, 1 failed" in told.out


@pytest.mark.slow
def test_a_docx_that_unpacks_to_more_than_is_allowed_is_one_line_whatever_its_ratio(tmp_path: Path) -> None:
    path = docx_bomb(tmp_path, megabytes=600)

    told = here("--data", tmp_path / "data", "ingest", path, "--no-progress", "--set", "max_archive_ratio=1000000")

    assert (told.code, len(told.complaints)) == (ExitCode.NOTHING, 1)
    assert "max_archive_bytes" in told.err


def test_a_file_without_permission_is_one_line(tmp_path: Path) -> None:
    with ordinary_user() as folder:
        path = folder / "private.md"
        path.write_text(GOOD)
        path.chmod(0)
        told = here("--data", folder / "data", "ingest", path, "--no-progress")

    assert (told.code, told.complaints) == (ExitCode.NOTHING, [f"failed: {path}: cannot be opened: permission denied"])


def test_bad_lines_of_a_jsonl_file_are_named_by_number(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a"}\nno json\n[1]\n')

    told = here("--data", tmp_path / "data", "ingest", path, "--no-progress")

    assert told.code == ExitCode.NOTHING
    assert [line.split(": ")[1] for line in told.complaints] == [f"{path}, line {n}" for n in (1, 2, 3)]


def test_a_folder_without_documents_is_said(tmp_path: Path) -> None:
    told = here("--data", tmp_path / "data", "ingest", tmp_path)

    assert (told.code, told.out) == (ExitCode.OK, "nothing to ingest: no supported files there\n")


def test_folders_that_link_to_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "empty.md").touch()

    told = here("--data", tmp_path / "data", "ingest", tmp_path, "--no-progress")

    assert len(told.complaints) == 1


@pytest.mark.nightly
def test_all_bad_files_together_leave_the_good_ones_in(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "up").symlink_to(tmp_path)
    (files / "good.md").write_text(GOOD)
    (files / "latin-1.txt").write_bytes(LATIN_1.encode("latin-1"))
    named = [bad_file(bad, files) for bad in BAD_FILES]

    told = apart("--data", "data", "ingest", files, *named, "--json", cwd=tmp_path)

    assert told.code == ExitCode.PARTLY
    report = told.json
    assert (report["documents_new"], report["chunks_failed"]) == (2, 0)
    assert {f["uri"] for f in report["failures"]} == {str(path) for path in named}
    listed = apart("--data", "data", "documents", "show", "latin-1.txt", "--text", cwd=tmp_path)
    assert listed.out.strip() == LATIN_1


# ---------------------------------------------------------------- questions, tenants, settings


@pytest.mark.parametrize("question", ["", "   ", "?!", "\n"])
def test_an_empty_question_is_refused(question: str) -> None:
    for command in ("query", "retrieve"):
        told = here(command, question)
        assert (told.code, told.complaints) == (ExitCode.INVALID, ["error: question must contain a letter or digit"])


def test_a_question_of_100_000_characters_is_refused_from_the_command_line_and_from_stdin() -> None:
    long = "why " * 25_000
    for told in (here("query", long), here("query", "-", stdin=long)):
        assert told.code == ExitCode.INVALID
        assert told.complaints == ["error: question must have at most 4,000 characters, got 100,000"]


@pytest.mark.parametrize("name", ["", "Upper", "a b", "../other", "a" * 65, "-a", "ä"])
def test_a_tenant_name_that_is_not_allowed_is_refused_by_every_command(name: str, tmp_path: Path) -> None:
    for command in (["ingest", str(tmp_path)], ["query", "Why?"], ["documents", "list"], ["stats"], ["doctor"]):
        told = here("--data", tmp_path / "data", f"--tenant={name}", *command)
        assert told.code == ExitCode.INVALID
        assert len(told.complaints) == 1
        assert "tenant" in told.err
        assert "is not allowed" in told.err
    assert not (tmp_path / "data").exists()


def test_a_namespace_that_is_not_allowed_is_refused(tmp_path: Path) -> None:
    told = here("--data", tmp_path / "data", "ingest", tmp_path, "--namespace", "a\nb", "--no-progress")

    assert (told.code, len(told.complaints)) == (ExitCode.INVALID, 1)


@pytest.mark.parametrize("command", [["query", "Why?"], ["documents", "list"], ["documents", "rm", "a.md"], ["stats"]])
def test_reading_where_no_database_is_creates_none(command: list[str], tmp_path: Path) -> None:
    told = here("--data", tmp_path / "data", *command)

    assert told.code == ExitCode.NOT_FOUND
    assert len(told.complaints) == 1
    assert "run `lexigraph ingest PATH` first" in told.err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("embedding_model=nonsense", "LEXIGRAPH_EMBEDDING_DIMENSION"),
        ("graph_store=nonsense://host", "unknown scheme 'nonsense'"),
        ("graph_store=neptune-db://", "expected neptune-db://HOST"),
        ("llm=nonsense", "llm 'nonsense' is not known"),
        ("extractor=nonsense", "LEXIGRAPH_EXTRACTOR"),
    ],
)
def test_a_setting_that_is_not_allowed_is_one_line(setting: str, words: str, tmp_path: Path) -> None:
    told = here("--data", tmp_path / "data", "ingest", tmp_path, "--set", setting)

    assert (told.code, len(told.complaints)) == (ExitCode.INVALID, 1)
    assert words in told.err


# ---------------------------------------------------------------- databases and disks that refuse


def test_a_data_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.touch()

    told = here("--data", path, "ingest", tmp_path)

    assert (told.code, len(told.complaints)) == (ExitCode.INVALID, 1)
    assert "is a file; give the folder" in told.err


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "graph.sqlite").write_bytes(b"this is not a database, it only has its name" * 100)

    told = here("--data", data, "stats")

    assert (told.code, len(told.complaints)) == (ExitCode.STORE, 1)
    assert "graph.sqlite" in told.err


@pytest.mark.slow
def test_a_database_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    import sqlite3

    (tmp_path / "kiln.txt").write_text("The kiln burns at night.", encoding="utf-8")
    here("--data", tmp_path / "data", "ingest", tmp_path)
    with sqlite3.connect(tmp_path / "data" / "graph.sqlite") as database:
        database.execute("PRAGMA user_version=99")

    told = here("--data", tmp_path / "data", "stats")

    assert (told.code, len(told.complaints)) == (ExitCode.INVALID, 1)
    assert "format 99" in told.err


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with ordinary_user() as folder:
        folder.chmod(0o555)
        told = here("--data", folder / "data", "ingest", folder)

    assert (told.code, len(told.complaints)) == (ExitCode.STORE, 1)
    assert "permission" in told.err.lower()


def test_a_full_disk_at_the_start_is_one_line(tmp_path: Path) -> None:
    with files_of_at_most(20_000):
        told = here("--data", tmp_path / "data", "ingest", tmp_path)

    assert (told.code, len(told.complaints)) == (ExitCode.STORE, 1)
    assert "space" in told.err


@pytest.mark.nightly
def test_a_disk_that_fills_during_a_run_is_one_line_and_the_next_run_ends_well(tmp_path: Path) -> None:
    write_corpus(tmp_path / "files", 60, "a")

    def quota() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))

    told = apart("--data", "data", "ingest", "files", "--no-progress", cwd=tmp_path, preexec_fn=quota)
    assert (told.code, told.out, len(told.complaints)) == (ExitCode.STORE, "", 1)
    assert "space" in told.err

    again = apart("--data", "data", "ingest", "files", "--json", cwd=tmp_path)
    assert (again.code, again.json["graph"]["sources"]) == (ExitCode.OK, 60)
    assert apart("--data", "data", "doctor", cwd=tmp_path).code == ExitCode.OK


def test_files_of_no_known_type_are_counted_by_their_endings_with_what_to_do(tmp_path: Path) -> None:
    for name in ("a.bin", "b.bin", "c.bin", "letter.doc", "notes.md"):
        (tmp_path / name).write_text(GOOD)

    told = here("--data", tmp_path / "data", "ingest", tmp_path, "--no-progress")

    assert told.code == ExitCode.OK
    assert "skipped     4 files: 3 .bin (unknown type), 1 .doc (save it as .docx)" in told.out.splitlines()

    report = here("--data", tmp_path / "data", "ingest", tmp_path, "--json").json
    assert report["skipped"] == [
        {"ending": ".bin", "files": 3, "reason": "unknown type"},
        {"ending": ".doc", "files": 1, "reason": "save it as .docx"},
    ]


def test_a_folder_of_unknown_files_only_says_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("x")

    told = here("--data", tmp_path / "data", "ingest", tmp_path)

    assert told.out.splitlines() == [
        "nothing to ingest: no supported files there",
        "skipped     1 file: 1 .bin (unknown type)",
    ]
