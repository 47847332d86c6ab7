-- The retry policies of some jobs.
-- Parameters: 1 the job before, or null, 2 limit. Rows: one, the last job (null if there is none) and
-- the policies. Locks: none.
WITH slice AS MATERIALIZED (
    SELECT id, policy FROM steadfast.job
    WHERE id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
    ORDER BY id
    LIMIT $2
)
SELECT
    (SELECT id FROM slice ORDER BY id DESC LIMIT 1) AS last,
    ARRAY(SELECT DISTINCT policy FROM slice) AS policies
