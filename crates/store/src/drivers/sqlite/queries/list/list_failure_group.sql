-- Jobs whose newest failure is of a group, newest id first, with what rules most of them out.
-- Parameters: 1 ids below this, 2 limit, 3 the number of the group. Rows: as named. Locks: read.
SELECT seq, id, lane, state, run_at, attempt > attempts_before AS is_retry, created_at, reason,
    failure IS NOT NULL AS has_failure
FROM steadfast_job INDEXED BY steadfast_job_failure_group
WHERE failure_group = ?3 AND id < ?1
ORDER BY id DESC
LIMIT ?2
