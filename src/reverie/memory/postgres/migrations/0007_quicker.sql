-- Similar memories are found in one scan of their words, which is quicker over a tsvector than over an array.
ALTER TABLE reverie.topics ALTER COLUMN content TYPE tsvector USING array_to_tsvector(array_remove(content, ''));

-- Reading asks for what may be read, and no longer for what may be written, too: who may write in a space
-- may read there.
DO $$
DECLARE
    name text;
    ours text := 'org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.writable())::uuid[])';
BEGIN
    FOREACH name IN ARRAY ARRAY['contents', 'revisions', 'changes', 'topics', 'passages', 'proposals', 'leases',
        'conversations', 'messages', 'episodes', 'dreams', 'projects'] LOOP
        EXECUTE format('DROP POLICY writing ON reverie.%I', name);
        EXECUTE format('CREATE POLICY adding ON reverie.%I FOR INSERT TO reverie_app WITH CHECK (%s)', name, ours);
        EXECUTE format('CREATE POLICY changing ON reverie.%I FOR UPDATE TO reverie_app USING (%s) WITH CHECK (%s)', name, ours, ours);
        EXECUTE format('CREATE POLICY removing ON reverie.%I FOR DELETE TO reverie_app USING (%s)', name, ours);
    END LOOP;
END $$;

-- The seal is checked here instead of by a function of its own: policies ask for the claims several times a statement.
CREATE OR REPLACE FUNCTION reverie.claims() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    stated text := current_setting('reverie.claims', true);
    secret bytea;
BEGIN
    IF coalesce(stated, '') = '' THEN RETURN '{}'; END IF;
    SELECT s.value INTO secret FROM reverie.secret s;
    IF encode(sha256(secret || convert_to(substr(stated, 66) || '/' || pg_backend_pid() || '/'
        || extract(epoch FROM transaction_timestamp()), 'UTF8') || secret), 'hex') IS DISTINCT FROM left(stated, 64)
        THEN RETURN '{}'; END IF;
    RETURN substr(stated, 66)::jsonb;
END $$;

-- How many passages a large project had when it was indexed; counting them takes as long as a scan.
ALTER TABLE reverie.projects ADD COLUMN passages bigint NOT NULL DEFAULT 0;
GRANT UPDATE (passages) ON reverie.projects TO reverie_app;

-- The passages of a large project that have any of some words, those with the weightiest first. A policy keeps
-- PostgreSQL from using an index on words, because their operator could tell of rows that the policy hides. So
-- this runs as the owner, and checks itself whether the key may read the space.
DO $$ BEGIN
    EXECUTE format('CREATE POLICY searching ON reverie.passages FOR SELECT TO %I USING (true)', current_user);
END $$;
CREATE FUNCTION reverie.worded(
    place uuid, wanted uuid, any_of tsquery, asked tsquery[], weights float[],
    archived boolean, kinds text[], since float, until float, most integer
) RETURNS TABLE (id bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF NOT place = ANY (reverie.readable()) THEN RETURN; END IF;
    RETURN QUERY SELECT p.id FROM reverie.passages p
        WHERE p.large AND p.org = reverie.org() AND p.space = place AND p.project = wanted AND p.words @@ any_of
            AND (archived OR NOT (p.standing ->> 'archived')::boolean)
            AND (kinds IS NULL OR p.standing ->> 'type' = ANY (kinds))
            AND (since IS NULL OR p.at >= since) AND (until IS NULL OR p.at < until)
        ORDER BY (SELECT sum(t.weight) FROM unnest(asked, weights) t(term, weight) WHERE p.words @@ t.term) DESC, p.id
        LIMIT most;
END $$;
REVOKE ALL ON FUNCTION reverie.worded(uuid, uuid, tsquery, tsquery[], float[], boolean, text[], float, float, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION reverie.worded(uuid, uuid, tsquery, tsquery[], float[], boolean, text[], float, float, integer) TO reverie_app;
