"""From files to the lexical graph: load, chunk, extract, build, finish.

What happens between an S3 upload and a searchable document, function by function (``functions/NAME/handler.py``), each step
being a method of :class:`~lexigraph.ingestion.workflow.steps.Steps` over files that the step before left:

1. ``start`` is told of the upload, claims the file for a run (``workflow/file_run.py``) and starts the state machine.
2. ``parse`` reads the file (``load.py``, ``readers/``) into parts of documents with text and blocks.
3. ``chunk`` cuts them (``chunk.py``) and lists the chunks that are not known yet, in batches.
4. ``extract`` asks the model about a batch (``extract/``) and embeds what it said, all through the cache (``models.py``).
5. ``build`` writes the next version, part by part: registry, text, graph, vectors (``run.py``, ``versions.py``).
6. ``finish`` waits until searches see the records, shows the version and takes the old one away (``versions.show``); at last
   it closes the run. ``remove`` takes documents out again (``remove.py``).

In process, as `lexigraph ingest` and a server without a workflow do it, ``LexicalGraphIndex`` brings in groups of documents
by the same functions: ``pipeline.py`` keeps the job, ``run.py`` goes through the files. What keeps stores sound afterwards
is in ``upkeep/``; ``relations.py`` relates chunks; ``bulk.py`` fills the cache by batches.
"""
