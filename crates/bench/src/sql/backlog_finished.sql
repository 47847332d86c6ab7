-- Jobs that have succeeded, each with its attempt.
-- Parameters: 1 how many, 2 lane, 3 policy, 4 payload, 5 now. Rows: none. Locks: the new rows.
WITH finished AS (
    INSERT INTO steadfast.job (
        id, lane, policy, priority, run_at, at_most_once, lease, created_at, payload, state,
        fence, attempt, started_at, first_started_at, finished_at, day
    )
    SELECT
        ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, $2::bigint,
        $3::bigint, 5, $5::bigint, false, 30000000000, $5, $4::text, 2, 1, 1, $5, $5, $5, 0
    FROM generate_series(1, $1::bigint) AS n
    RETURNING id, started_at, finished_at
)
INSERT INTO steadfast.attempt (job, fence, attempt, status, started_at, finished_at, worker)
SELECT id, 1, 1, 'SUCCESS', started_at, finished_at, 'bare' FROM finished
