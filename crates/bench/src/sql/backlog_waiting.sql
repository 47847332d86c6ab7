-- Jobs that are due, like those of the lifecycle.
-- Parameters: 1 how many, 2 lane, 3 policy, 4 payload, 5 now. Rows: none. Locks: the new rows.
INSERT INTO steadfast.job_hot (
    id, lane, policy, priority, run_at, at_most_once, lease, created_at, payload
)
SELECT
    ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $2::bigint, $3::bigint, 5,
    $5::bigint, false, 30000000000, $5, $4::text
FROM generate_series(1, $1::bigint) AS n
