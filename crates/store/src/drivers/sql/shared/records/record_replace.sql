-- Writes a record in place of one with a given revision.
-- Parameters: 1 kind, 2 id, 3 tenant, 4 name, 5 state, 6 time, 7 revision, 8 body, 9 the revision that
-- must be stored. Rows: none. Locks: the row.
UPDATE steadfast_record SET tenant = ?3, name = ?4, state = ?5, at = ?6, revision = ?7, body = ?8
WHERE kind = ?1 AND id = ?2 AND revision = ?9
