"""Tables of the embedded lexical graph. Integer keys inside, 128-bit public ids at the border.

Every edge that a chunk contributes carries the chunk's key (``said_in``, ``topic_in``, ``supports``, ``mentions``,
``alias``), so a chunk is withdrawn exactly. ``placed`` is EXTRACTED_FROM: readers see a chunk when
``since <= source.live < until``. NEXT and PREVIOUS follow from ``placed.seq`` and ``said_in.position``, RELATION from
``fact.subject_entity`` and ``supports.object_entity``. ``chunk_statements`` repeats what the tables say of a chunk's
statements, ready for reading (:mod:`~lexigraph.storage.sqlite.graph.rows`).
"""

VERSION = 7

SCHEMA = """
CREATE TABLE tenant (k INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE source (
    k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant INTEGER NOT NULL, uri TEXT NOT NULL, namespace TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '', metadata TEXT NOT NULL DEFAULT '{}', filterable TEXT NOT NULL DEFAULT '{}', live INTEGER
);
CREATE INDEX source_tenant ON source (tenant);
CREATE TABLE chunk (k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, source INTEGER NOT NULL);
CREATE INDEX chunk_source ON chunk (source);
CREATE TABLE placed (
    chunk INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER, source INTEGER NOT NULL, seq INTEGER NOT NULL,
    "start" INTEGER NOT NULL, "end" INTEGER NOT NULL, role TEXT NOT NULL, parent TEXT NOT NULL, PRIMARY KEY (chunk, since)
) WITHOUT ROWID;
CREATE INDEX placed_source ON placed (source, seq);
CREATE TABLE topic (k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, source INTEGER NOT NULL, value TEXT NOT NULL);
CREATE TABLE topic_in (chunk INTEGER NOT NULL, topic INTEGER NOT NULL, PRIMARY KEY (chunk, topic)) WITHOUT ROWID;
CREATE INDEX topic_in_topic ON topic_in (topic);
CREATE TABLE statement (
    k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, topic INTEGER NOT NULL, value TEXT NOT NULL, details TEXT NOT NULL,
    kind TEXT NOT NULL DEFAULT 'prose'
);
CREATE TABLE said_in (
    chunk INTEGER NOT NULL, statement INTEGER NOT NULL, position INTEGER NOT NULL, "start" INTEGER NOT NULL,
    "end" INTEGER NOT NULL, original TEXT NOT NULL DEFAULT '', PRIMARY KEY (chunk, statement)
) WITHOUT ROWID;
CREATE INDEX said_in_statement ON said_in (statement);
CREATE TABLE chunk_statements (chunk INTEGER PRIMARY KEY, statements TEXT NOT NULL);
CREATE TABLE entity (
    k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant INTEGER NOT NULL, value TEXT NOT NULL,
    class TEXT NOT NULL DEFAULT '', df INTEGER NOT NULL DEFAULT 0, degree INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE fact (
    k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL,
    subject_entity INTEGER NOT NULL
);
CREATE INDEX fact_subject ON fact (subject_entity);
CREATE TABLE supports (
    chunk INTEGER NOT NULL, statement INTEGER NOT NULL, fact INTEGER NOT NULL, object_entity INTEGER,
    confidence REAL NOT NULL, PRIMARY KEY (chunk, statement, fact)
) WITHOUT ROWID;
CREATE INDEX supports_fact ON supports (fact);
CREATE INDEX supports_object ON supports (object_entity) WHERE object_entity IS NOT NULL;
CREATE TABLE mentions (
    chunk INTEGER NOT NULL, statement INTEGER NOT NULL, entity INTEGER NOT NULL, form TEXT NOT NULL, class TEXT NOT NULL,
    PRIMARY KEY (chunk, statement, entity)
) WITHOUT ROWID;
CREATE INDEX mentions_entity ON mentions (entity);
CREATE TABLE about (source INTEGER NOT NULL, entity INTEGER NOT NULL, form TEXT NOT NULL, PRIMARY KEY (source, entity))
WITHOUT ROWID;
CREATE INDEX about_entity ON about (entity);
CREATE TABLE alias (
    alias INTEGER NOT NULL, target INTEGER NOT NULL, chunk INTEGER NOT NULL, alias_form TEXT NOT NULL,
    target_form TEXT NOT NULL, PRIMARY KEY (alias, target, chunk)
) WITHOUT ROWID;
CREATE INDEX alias_target ON alias (target);
CREATE INDEX alias_chunk ON alias (chunk);
CREATE TABLE touched (id BLOB PRIMARY KEY, entity INTEGER NOT NULL, tenant INTEGER NOT NULL, stamp INTEGER NOT NULL)
WITHOUT ROWID;
CREATE INDEX touched_tenant ON touched (tenant);
"""

# What observers said of pairs of chunks, and which pairs they were asked about (relations.py).
RELATIONS = """
CREATE TABLE IF NOT EXISTS rel (
    src INTEGER NOT NULL, dst INTEGER NOT NULL, type TEXT NOT NULL, observer TEXT NOT NULL, confidence REAL NOT NULL,
    evidence TEXT NOT NULL, PRIMARY KEY (src, dst, type, observer)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS rel_dst ON rel (dst);
CREATE TABLE IF NOT EXISTS rel_pair (
    first INTEGER NOT NULL, second INTEGER NOT NULL, observer TEXT NOT NULL, how TEXT NOT NULL, failed INTEGER NOT NULL,
    PRIMARY KEY (first, second, observer)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS rel_pair_second ON rel_pair (second);
"""
SCHEMA += RELATIONS

# The entities that most sources name, in order (explore.py); of some only, so that no other query starts from it
LEADING = "CREATE INDEX IF NOT EXISTS entity_df ON entity (tenant, df DESC, id) WHERE df > 0;"
SCHEMA += LEADING

# A chunk placed as `p` in a source `s` that readers of tenant ? see. The plus keeps SQLite from starting at the tenant's
# sources, which are all, instead of at the few rows that were asked for.
LIVE = "+s.tenant = ? AND p.since <= s.live AND (p.until IS NULL OR p.until > s.live)"

# Owner of the aliases that the synonyms file gives: no chunk has the key 0; tenants are told apart by their entities.
SYNONYMS = 0
# Owner of the aliases that lead from a name to what it means in some documents, and never back.
SENSES = -1
