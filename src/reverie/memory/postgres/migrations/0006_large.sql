-- Projects too large to be scanned: their rows, and no others, are in an index of vectors and one of words.
-- A worker marks the rows a portion at a time, and the project when all of them are.
ALTER TABLE reverie.projects ADD COLUMN large boolean NOT NULL DEFAULT false;
GRANT UPDATE (large) ON reverie.projects TO reverie_app;

ALTER TABLE reverie.passages ADD COLUMN large boolean NOT NULL DEFAULT false;
CREATE INDEX passages_meaning ON reverie.passages
    USING hnsw ((embedding::halfvec(256)) halfvec_cosine_ops) WHERE large AND vector_dims(embedding) = 256;
CREATE INDEX passages_words ON reverie.passages USING gin (words) WHERE large;
