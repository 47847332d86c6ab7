-- Deletes old tick records.
-- Parameters: 1 ticks before this, 2 limit. Rows: none. Locks: the rows.
DELETE FROM steadfast.tick WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM steadfast.tick WHERE tick < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
))
