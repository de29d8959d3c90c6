-- Row-level security on every table, forced, and a role that can only go through it.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reverie_app') THEN
        CREATE ROLE reverie_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOINHERIT;
    END IF;
END $$;

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['contents', 'revisions', 'changes', 'topics', 'passages', 'proposals', 'leases'] LOOP
        EXECUTE format('ALTER TABLE reverie.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE reverie.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY reading ON reverie.%I FOR SELECT TO reverie_app USING (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.readable())::uuid[]))', name);
        EXECUTE format('CREATE POLICY writing ON reverie.%I FOR ALL TO reverie_app USING (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.writable())::uuid[])) WITH CHECK (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.writable())::uuid[]))', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON reverie.%I TO reverie_app', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['organisations', 'spaces', 'projects', 'keys', 'grants', 'promotions', 'caps', 'ledger', 'answers', 'effects', 'secret'] LOOP
        EXECUTE format('ALTER TABLE reverie.%I ENABLE ROW LEVEL SECURITY', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['projects', 'promotions', 'caps', 'ledger', 'answers', 'effects'] LOOP
        EXECUTE format('ALTER TABLE reverie.%I FORCE ROW LEVEL SECURITY', name);
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA reverie TO reverie_app;

CREATE POLICY own ON reverie.organisations FOR SELECT TO reverie_app USING (org = (SELECT reverie.org()));
GRANT SELECT ON reverie.organisations TO reverie_app;

CREATE POLICY reading ON reverie.spaces FOR SELECT TO reverie_app
    USING (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.readable())::uuid[]));
CREATE POLICY administering ON reverie.spaces FOR ALL TO reverie_app
    USING (org = (SELECT reverie.org()) AND (SELECT reverie.is_admin()))
    WITH CHECK (org = (SELECT reverie.org()) AND (SELECT reverie.is_admin()));
GRANT SELECT, INSERT ON reverie.spaces TO reverie_app;

CREATE POLICY reading ON reverie.projects FOR SELECT TO reverie_app
    USING (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.readable())::uuid[]));
CREATE POLICY writing ON reverie.projects FOR ALL TO reverie_app
    USING (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.writable())::uuid[]))
    WITH CHECK (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.writable())::uuid[]));
GRANT SELECT, INSERT ON reverie.projects TO reverie_app;
GRANT UPDATE (seq, head, linear) ON reverie.projects TO reverie_app;

-- Reading a key never shows its digest; keys change through functions that ask for an admin.
CREATE POLICY administering ON reverie.keys FOR SELECT TO reverie_app
    USING (org = (SELECT reverie.org()) AND (SELECT reverie.is_admin()));
GRANT SELECT (org, key, label, admin, created, expires, revoked, used) ON reverie.keys TO reverie_app;
CREATE POLICY administering ON reverie.grants FOR SELECT TO reverie_app
    USING (org = (SELECT reverie.org()) AND (SELECT reverie.is_admin()));
GRANT SELECT ON reverie.grants TO reverie_app;

-- Any member of the team's space may ask; to decide, one must be allowed to write there.
CREATE POLICY reading ON reverie.promotions FOR SELECT TO reverie_app
    USING (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.readable())::uuid[]));
CREATE POLICY asking ON reverie.promotions FOR INSERT TO reverie_app
    WITH CHECK (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.readable())::uuid[])
        AND state = 'waiting' AND decided_by IS NULL);
CREATE POLICY deciding ON reverie.promotions FOR UPDATE TO reverie_app
    USING (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.writable())::uuid[]))
    WITH CHECK (org = (SELECT reverie.org()) AND space = ANY ((SELECT reverie.writable())::uuid[]));
GRANT SELECT, INSERT ON reverie.promotions TO reverie_app;
GRANT UPDATE (state, decided_by, reason) ON reverie.promotions TO reverie_app;

CREATE POLICY own ON reverie.ledger FOR ALL TO reverie_app
    USING (org = (SELECT reverie.org())) WITH CHECK (org = (SELECT reverie.org()));
GRANT SELECT, INSERT, UPDATE, DELETE ON reverie.ledger TO reverie_app;
CREATE POLICY own ON reverie.answers FOR ALL TO reverie_app
    USING (org = (SELECT reverie.org())) WITH CHECK (org = (SELECT reverie.org()));
GRANT SELECT, INSERT, UPDATE, DELETE ON reverie.answers TO reverie_app;
CREATE POLICY own ON reverie.effects FOR ALL TO reverie_app
    USING (org = (SELECT reverie.org())) WITH CHECK (org = (SELECT reverie.org()));
GRANT SELECT, INSERT ON reverie.effects TO reverie_app;
CREATE POLICY reading ON reverie.caps FOR SELECT TO reverie_app USING (org = (SELECT reverie.org()));
CREATE POLICY administering ON reverie.caps FOR ALL TO reverie_app
    USING (org = (SELECT reverie.org()) AND (SELECT reverie.is_admin()))
    WITH CHECK (org = (SELECT reverie.org()) AND (SELECT reverie.is_admin()));
GRANT SELECT, INSERT, UPDATE, DELETE ON reverie.caps TO reverie_app;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA reverie FROM PUBLIC;
GRANT EXECUTE ON FUNCTION reverie.enter(text), reverie.claims(), reverie.org(), reverie.is_admin(),
    reverie.readable(), reverie.writable(), reverie.create_key(text, boolean, jsonb, interval),
    reverie.rotate_key(text), reverie.revoke_key(text) TO reverie_app;
