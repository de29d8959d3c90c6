-- Topics, every revision of them, what recall searches, the inbox, promotions, leases, money.
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE reverie.contents (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    version text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (project, version),
    FOREIGN KEY (org, space, project) REFERENCES reverie.projects (org, space, project)
);

CREATE TABLE reverie.revisions (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    seq bigint NOT NULL,
    id text NOT NULL,
    parents text[] NOT NULL,
    at double precision NOT NULL,
    message text NOT NULL,
    PRIMARY KEY (project, seq),
    UNIQUE (project, id),
    FOREIGN KEY (org, space, project) REFERENCES reverie.projects (org, space, project)
);

-- A missing version: the revision removed the file.
CREATE TABLE reverie.changes (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    seq bigint NOT NULL,
    file text NOT NULL,
    version text,
    PRIMARY KEY (project, seq, file),
    FOREIGN KEY (project, seq) REFERENCES reverie.revisions (project, seq),
    FOREIGN KEY (project, version) REFERENCES reverie.contents (project, version)
);
CREATE INDEX changes_of_file ON reverie.changes (project, file, seq DESC);

CREATE TABLE reverie.topics (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    file text NOT NULL,
    folded text NOT NULL,
    version text NOT NULL,
    size integer NOT NULL,
    seq bigint NOT NULL,
    changed double precision NOT NULL,
    head bytea NOT NULL,
    -- The words by which similar memories are found.
    content text[] NOT NULL,
    PRIMARY KEY (project, file),
    FOREIGN KEY (project, version) REFERENCES reverie.contents (project, version)
);
CREATE INDEX topics_folded ON reverie.topics (project, folded);
CREATE INDEX topics_newest ON reverie.topics (project, changed DESC, file);

CREATE TABLE reverie.passages (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    file text NOT NULL,
    body text NOT NULL,
    words tsvector NOT NULL,
    terms text NOT NULL,
    groups text NOT NULL,
    at double precision,
    standing jsonb NOT NULL,
    model text,
    embedding halfvec,
    PRIMARY KEY (project, id),
    FOREIGN KEY (project, file) REFERENCES reverie.topics (project, file) ON DELETE CASCADE
);
CREATE INDEX passages_of_file ON reverie.passages (project, file);

CREATE TABLE reverie.proposals (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    id text NOT NULL,
    item jsonb NOT NULL,
    state text NOT NULL CHECK (state IN ('waiting', 'approved', 'rejected')) DEFAULT 'waiting',
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project, id),
    FOREIGN KEY (org, space, project) REFERENCES reverie.projects (org, space, project)
);

-- A private memory becomes a team's only after a reviewer agreed. `space` is the team's.
CREATE TABLE reverie.promotions (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    file text NOT NULL,
    data bytea NOT NULL,
    state text NOT NULL CHECK (state IN ('waiting', 'approved', 'rejected')) DEFAULT 'waiting',
    asked_by text NOT NULL,
    decided_by text,
    reason text NOT NULL DEFAULT '',
    at timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (org, space, project) REFERENCES reverie.projects (org, space, project)
);

CREATE TABLE reverie.leases (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    name text NOT NULL,
    holder text NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (project, name),
    FOREIGN KEY (org, space, project) REFERENCES reverie.projects (org, space, project)
);

CREATE TABLE reverie.caps (
    org uuid NOT NULL REFERENCES reverie.organisations,
    -- Empty: every key, every purpose.
    key text NOT NULL DEFAULT '',
    purpose text NOT NULL DEFAULT '',
    day double precision NOT NULL CHECK (day >= 0),
    PRIMARY KEY (org, key, purpose)
);

CREATE TABLE reverie.ledger (
    org uuid NOT NULL REFERENCES reverie.organisations,
    ticket text NOT NULL,
    key text NOT NULL,
    purpose text NOT NULL,
    session text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    cost double precision NOT NULL,
    settled boolean NOT NULL DEFAULT false,
    entry jsonb,
    PRIMARY KEY (org, ticket)
);
CREATE INDEX ledger_of_day ON reverie.ledger (org, at);

CREATE TABLE reverie.answers (
    org uuid NOT NULL REFERENCES reverie.organisations,
    key text NOT NULL,
    idempotency text NOT NULL,
    request text NOT NULL,
    status integer,
    headers jsonb,
    body bytea,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, key, idempotency)
);

-- The effects of jobs, each once.
CREATE TABLE reverie.effects (
    org uuid NOT NULL REFERENCES reverie.organisations,
    job text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, job)
);
