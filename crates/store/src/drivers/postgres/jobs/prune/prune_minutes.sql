-- Deletes old counts by the minute.
-- Parameters: 1 minutes before this, 2 limit. Rows: one, deleted. Locks: the rows.
WITH gone AS (
    DELETE FROM steadfast.minute WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM steadfast.minute WHERE minute < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
    ))
    RETURNING 1
)
SELECT count(*) AS deleted FROM gone
