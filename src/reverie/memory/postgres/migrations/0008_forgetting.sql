-- When a memory is forgotten everywhere, its name leaves the history, too. Copies that are older than this revision
-- compare their files with those that there are.
ALTER TABLE reverie.projects ADD COLUMN rewritten bigint NOT NULL DEFAULT 0;
GRANT UPDATE (rewritten) ON reverie.projects TO reverie_app;

-- Those who asked for a promotion, or may write in the team's space, may remove what it holds.
CREATE POLICY removing ON reverie.promotions FOR DELETE TO reverie_app
    USING (org = (SELECT reverie.org()) AND (space = ANY ((SELECT reverie.writable())::uuid[])
        OR asked_by = (SELECT reverie.claims() ->> 'key')));
GRANT DELETE ON reverie.promotions TO reverie_app;
