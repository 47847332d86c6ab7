-- Deletes old audit records.
-- Parameters: 1 those before this time, 2 limit. Rows: one, deleted. Locks: the rows.
WITH gone AS (
    DELETE FROM steadfast.audit WHERE id = ANY(ARRAY(
        SELECT id FROM steadfast.audit WHERE at < $1 LIMIT $2
    ))
    RETURNING 1
)
SELECT count(*) AS deleted FROM gone
