-- Running jobs, newest id first, with what rules most of them out.
-- Parameters: 1 ids up to this, 2 limit, 3 unused. Rows: as named. Locks: none.
SELECT id, lane, state, run_at, attempt > attempts_before AS is_retry, created_at, reason,
    failure IS NOT NULL AS has_failure
FROM steadfast.job_hot AS job
WHERE state = 1 AND id <= $1 AND $3::uuid IS NULL
ORDER BY id DESC
LIMIT $2
