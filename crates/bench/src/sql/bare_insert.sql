-- The bare loop: stores waiting jobs.
-- Parameters: 1 ids, 2 payloads, 3 lane, 4 policy, 5 now. Rows: none. Locks: the new rows.
INSERT INTO steadfast.job_hot (
    id, lane, policy, priority, run_at, at_most_once, lease, created_at, payload
)
SELECT new.id, $3::bigint, $4::bigint, 5, $5::bigint, false, 30000000000, $5, new.payload
FROM unnest($1::uuid[], $2::text[]) AS new (id, payload)
