-- Organisations, their spaces and projects, keys, and the identity that every policy asks for.
CREATE SCHEMA reverie;

CREATE TABLE reverie.secret (value bytea NOT NULL);
INSERT INTO reverie.secret VALUES (sha256((gen_random_uuid()::text || gen_random_uuid()::text)::bytea));

CREATE TABLE reverie.organisations (
    org uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL UNIQUE,
    created timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE reverie.spaces (
    org uuid NOT NULL REFERENCES reverie.organisations,
    space uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('private', 'team')),
    created timestamptz NOT NULL DEFAULT now(),
    UNIQUE (org, name),
    UNIQUE (org, space)
);

CREATE TABLE reverie.projects (
    org uuid NOT NULL,
    space uuid NOT NULL,
    project uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL,
    -- The number and the id of the newest revision.
    seq bigint NOT NULL DEFAULT 0,
    head text,
    -- Whether every revision has one parent, the one before it.
    linear boolean NOT NULL DEFAULT true,
    created timestamptz NOT NULL DEFAULT now(),
    UNIQUE (space, name),
    UNIQUE (org, space, project),
    FOREIGN KEY (org, space) REFERENCES reverie.spaces (org, space)
);

CREATE TABLE reverie.keys (
    org uuid NOT NULL REFERENCES reverie.organisations,
    key text PRIMARY KEY,
    label text NOT NULL,
    digest bytea NOT NULL,
    -- An administrator of the organisation: every space, and its keys.
    admin boolean NOT NULL DEFAULT false,
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz,
    revoked timestamptz,
    used timestamptz,
    UNIQUE (org, key)
);

CREATE TABLE reverie.grants (
    org uuid NOT NULL,
    key text NOT NULL,
    space uuid NOT NULL,
    scope text NOT NULL CHECK (scope IN ('read', 'write')),
    PRIMARY KEY (key, space),
    FOREIGN KEY (org, key) REFERENCES reverie.keys (org, key) ON DELETE CASCADE,
    FOREIGN KEY (org, space) REFERENCES reverie.spaces (org, space)
);

-- Who is asking. The application role cannot choose it: `enter` takes a token, and what it stores
-- is sealed with a secret of the owner, for this transaction of this connection alone.
CREATE FUNCTION reverie.seal(claims text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT encode(sha256(s.value || convert_to(
        claims || '/' || pg_backend_pid() || '/' || extract(epoch FROM transaction_timestamp()), 'UTF8'
    ) || s.value), 'hex') FROM reverie.secret s
$$;

CREATE FUNCTION reverie.claims() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE stated text := current_setting('reverie.claims', true);
BEGIN
    IF coalesce(stated, '') = '' THEN RETURN '{}'; END IF;
    IF reverie.seal(substr(stated, 66)) IS DISTINCT FROM left(stated, 64) THEN RETURN '{}'; END IF;
    RETURN substr(stated, 66)::jsonb;
END $$;

CREATE FUNCTION reverie.org() RETURNS uuid LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$ SELECT (reverie.claims() ->> 'org')::uuid $$;

CREATE FUNCTION reverie.is_admin() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$ SELECT coalesce((reverie.claims() ->> 'admin')::boolean, false) $$;

CREATE FUNCTION reverie.readable() RETURNS uuid[] LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$
    SELECT coalesce(array_agg(v::uuid), '{}') FROM jsonb_array_elements_text(reverie.claims() -> 'read') v
$$;

CREATE FUNCTION reverie.writable() RETURNS uuid[] LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$
    SELECT coalesce(array_agg(v::uuid), '{}') FROM jsonb_array_elements_text(reverie.claims() -> 'write') v
$$;

CREATE FUNCTION reverie.enter(token text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    known reverie.keys;
    claims jsonb;
BEGIN
    SELECT k.* INTO known FROM reverie.keys k
        WHERE k.key = split_part(token, '.', 1)
          AND k.digest = sha256(convert_to(split_part(token, '.', 2), 'UTF8'))
          AND k.revoked IS NULL AND (k.expires IS NULL OR k.expires > now());
    IF NOT FOUND THEN
        PERFORM set_config('reverie.claims', '', true);
        RETURN NULL;
    END IF;
    IF known.admin THEN
        SELECT jsonb_build_object('org', known.org, 'key', known.key, 'admin', true,
            'read', coalesce(jsonb_agg(s.space), '[]'), 'write', coalesce(jsonb_agg(s.space), '[]'))
            INTO claims FROM reverie.spaces s WHERE s.org = known.org;
    ELSE
        SELECT jsonb_build_object('org', known.org, 'key', known.key, 'admin', false,
            'read', coalesce(jsonb_agg(g.space), '[]'),
            'write', coalesce(jsonb_agg(g.space) FILTER (WHERE g.scope = 'write'), '[]'))
            INTO claims FROM reverie.grants g WHERE g.key = known.key;
    END IF;
    PERFORM set_config('reverie.claims', reverie.seal(claims::text) || '.' || claims::text, true);
    RETURN claims;
END $$;

CREATE FUNCTION reverie.create_key(label text, make_admin boolean, allowed jsonb, lives interval)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    id text := 'rev' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 16);
    hidden text := replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
BEGIN
    IF NOT reverie.is_admin() THEN RAISE insufficient_privilege USING MESSAGE = 'only an admin key makes keys'; END IF;
    INSERT INTO reverie.keys (org, key, label, digest, admin, expires)
        VALUES (reverie.org(), id, label, sha256(convert_to(hidden, 'UTF8')), make_admin, now() + lives);
    INSERT INTO reverie.grants (org, key, space, scope)
        SELECT s.org, id, s.space, a.value FROM jsonb_each_text(allowed) a
        JOIN reverie.spaces s ON s.org = reverie.org() AND s.name = a.key;
    IF (SELECT count(*) FROM reverie.grants g WHERE g.key = id) <> (SELECT count(*) FROM jsonb_each_text(allowed)) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'there is no such space in this organisation';
    END IF;
    RETURN id || '.' || hidden;
END $$;

-- A new secret for a key; the old one ends now.
CREATE FUNCTION reverie.rotate_key(wanted text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE hidden text := replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
BEGIN
    IF NOT reverie.is_admin() THEN RAISE insufficient_privilege USING MESSAGE = 'only an admin key rotates keys'; END IF;
    UPDATE reverie.keys SET digest = sha256(convert_to(hidden, 'UTF8'))
        WHERE org = reverie.org() AND key = wanted AND revoked IS NULL;
    RETURN CASE WHEN FOUND THEN wanted || '.' || hidden END;
END $$;

CREATE FUNCTION reverie.revoke_key(wanted text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF NOT reverie.is_admin() THEN RAISE insufficient_privilege USING MESSAGE = 'only an admin key revokes keys'; END IF;
    UPDATE reverie.keys SET revoked = now() WHERE org = reverie.org() AND key = wanted AND revoked IS NULL;
    RETURN FOUND;
END $$;

-- A new organisation with its first admin key; only the owner of the schema may call it.
CREATE FUNCTION reverie.create_organisation(title text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    made uuid;
    id text := 'rev' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 16);
    hidden text := replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
BEGIN
    INSERT INTO reverie.organisations (name) VALUES (title) RETURNING org INTO made;
    INSERT INTO reverie.keys (org, key, label, digest, admin)
        VALUES (made, id, 'first admin', sha256(convert_to(hidden, 'UTF8')), true);
    RETURN id || '.' || hidden;
END $$;
