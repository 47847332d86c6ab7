-- Writes a record in place of one with a given revision.
-- Parameters: 1 kind, 2 id, 3 tenant, 4 state, 5 time, 6 revision, 7 body, 8 the revision that must be
-- stored. Rows: none. Locks: the row.
UPDATE steadfast_record SET tenant = ?3, state = ?4, at = ?5, revision = ?6, body = ?7
WHERE kind = ?1 AND id = ?2 AND revision = ?8
