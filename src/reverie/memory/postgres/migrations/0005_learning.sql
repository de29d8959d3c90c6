-- Conversations, what is learnt from them, and dreams. Jobs are enqueued by the same transaction.
CREATE TABLE reverie.conversations (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    session text NOT NULL,
    started double precision NOT NULL,
    updated double precision NOT NULL,
    -- How many messages it has, and how many of them were learnt from.
    messages integer NOT NULL DEFAULT 0,
    learnt integer NOT NULL DEFAULT 0,
    PRIMARY KEY (project, session),
    FOREIGN KEY (org, space, project) REFERENCES reverie.projects (org, space, project)
);
CREATE INDEX conversations_newest ON reverie.conversations (project, updated DESC, session);

CREATE TABLE reverie.messages (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    session text NOT NULL,
    position integer NOT NULL,
    id text NOT NULL,
    at double precision NOT NULL,
    record jsonb NOT NULL,
    PRIMARY KEY (project, session, position),
    UNIQUE (project, session, id),
    FOREIGN KEY (project, session) REFERENCES reverie.conversations (project, session) ON DELETE CASCADE
);

-- What search looks at: a message, or a piece of a long one.
CREATE TABLE reverie.episodes (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    session text NOT NULL,
    message text NOT NULL,
    role text NOT NULL,
    at double precision NOT NULL,
    body text NOT NULL,
    words tsvector NOT NULL,
    -- Words of the messages beside it, so that a reply is found by its question.
    around tsvector NOT NULL,
    model text,
    embedding halfvec,
    PRIMARY KEY (project, id),
    FOREIGN KEY (project, session) REFERENCES reverie.conversations (project, session) ON DELETE CASCADE
);

CREATE TABLE reverie.dreams (
    org uuid NOT NULL, space uuid NOT NULL, project uuid NOT NULL,
    id text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL,
    report jsonb NOT NULL,
    PRIMARY KEY (project, id),
    FOREIGN KEY (org, space, project) REFERENCES reverie.projects (org, space, project)
);
CREATE INDEX dreams_newest ON reverie.dreams (project, at DESC);

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['conversations', 'messages', 'episodes', 'dreams'] LOOP
        EXECUTE format('ALTER TABLE reverie.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE reverie.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY reading ON reverie.%I FOR SELECT TO reverie_app USING (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.readable())::uuid[]))', name);
        EXECUTE format('CREATE POLICY writing ON reverie.%I FOR ALL TO reverie_app USING (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.writable())::uuid[])) WITH CHECK (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.writable())::uuid[]))', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON reverie.%I TO reverie_app', name);
    END LOOP;
END $$;

-- When a space's projects dream (NULL sessions: never), and what its people keep out of memory.
ALTER TABLE reverie.spaces
    ADD COLUMN dream_hours double precision NOT NULL DEFAULT 24 CHECK (dream_hours >= 0),
    ADD COLUMN dream_sessions integer DEFAULT 5 CHECK (dream_sessions > 0),
    ADD COLUMN learning text NOT NULL DEFAULT '';
GRANT UPDATE (dream_hours, dream_sessions, learning) ON reverie.spaces TO reverie_app;

-- A job for later, once: while one of the same name waits or runs, another is not enqueued.
CREATE FUNCTION reverie.enqueue_once(kind text, wanted uuid, detail jsonb, name text, moment timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
    made bigint;
    place uuid := (detail ->> 'space')::uuid;
BEGIN
    IF place IS NULL OR NOT place = ANY (reverie.writable()) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this key may not write there';
    END IF;
    INSERT INTO pgqueuer (priority, entrypoint, payload, status, dedupe_key, execute_after)
        VALUES (0, kind, convert_to((detail || jsonb_build_object('org', reverie.org(), 'project', wanted))::text, 'UTF8'),
            'queued', kind || '/' || reverie.org() || '/' || wanted || '/' || name, moment)
        ON CONFLICT DO NOTHING RETURNING id INTO made;
    IF made IS NOT NULL THEN
        INSERT INTO pgqueuer_log (job_id, status, entrypoint, priority) VALUES (made, 'queued', kind, 0);
    END IF;
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION reverie.enqueue_once(text, uuid, jsonb, text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION reverie.enqueue_once(text, uuid, jsonb, text, timestamptz) TO reverie_app;
