-- Deletes old tick records.
-- Parameters: 1 ticks before this, 2 limit. Rows: one, deleted. Locks: the rows.
WITH gone AS (
    DELETE FROM steadfast.tick WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM steadfast.tick WHERE tick < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
    ))
    RETURNING 1
)
SELECT count(*) AS deleted FROM gone
