-- The queue's own tables are made before this file runs. Jobs are enqueued in the transaction of the
-- write they belong to, through one function: the application role cannot touch the queue itself.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reverie_worker') THEN
        CREATE ROLE reverie_worker LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
END $$;
GRANT reverie_app TO reverie_worker;

CREATE FUNCTION reverie.enqueue(kind text, wanted uuid, detail jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
    made bigint;
    place uuid := (detail ->> 'space')::uuid;
BEGIN
    IF place IS NULL OR NOT place = ANY (reverie.writable()) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this key may not write there';
    END IF;
    INSERT INTO pgqueuer (priority, entrypoint, payload, status)
        VALUES (0, kind, convert_to((detail || jsonb_build_object('org', reverie.org(), 'project', wanted))::text, 'UTF8'), 'queued')
        RETURNING id INTO made;
    INSERT INTO pgqueuer_log (job_id, status, entrypoint, priority) VALUES (made, 'queued', kind, 0);
    RETURN made;
END $$;

-- A worker is not a tenant: it gets the identity of one job's space, and nothing else.
CREATE FUNCTION reverie.enter_job(owner uuid, place uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE claims text := jsonb_build_object('org', owner, 'key', 'worker', 'admin', false,
    'read', jsonb_build_array(place), 'write', jsonb_build_array(place))::text;
BEGIN
    PERFORM set_config('reverie.claims', reverie.seal(claims) || '.' || claims, true);
END $$;

REVOKE ALL ON FUNCTION reverie.enqueue(text, uuid, jsonb), reverie.enter_job(uuid, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION reverie.enqueue(text, uuid, jsonb) TO reverie_app;
GRANT EXECUTE ON FUNCTION reverie.enter_job(uuid, uuid) TO reverie_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON pgqueuer, pgqueuer_log, pgqueuer_statistics, pgqueuer_schedules TO reverie_worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO reverie_worker;
