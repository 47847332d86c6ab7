-- Deletes retry policies that no job has, if they have been unused for a day, and marks the others.
-- Parameters: 1 policies, 2 now, 3 unused since this time. Rows: one, deleted. Locks: the rows, if they
-- are free.
WITH unused AS (
    SELECT id, unused_since FROM steadfast.policy
    WHERE id = ANY($1::bigint[])
    ORDER BY id
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM steadfast.policy AS old USING unused
    WHERE old.id = unused.id AND unused.unused_since <= $3
    RETURNING 1
),
marked AS (
    UPDATE steadfast.policy AS known SET unused_since = $2 FROM unused
    WHERE known.id = unused.id AND unused.unused_since IS NULL
)
SELECT count(*) AS deleted FROM gone
