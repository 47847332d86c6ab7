-- Extends leases whose fence still holds. The state is compared in a way that no index
-- answers: the index of running jobs is full of dead entries, the primary key is not.
-- Parameters: 1 now or null, then arrays with one entry per renewal: 2 job id, 3 fence,
-- 4 lease in microseconds, 5 note or null, 6 whether the lease ends with the timeout, which is in
-- nanoseconds, at the latest. Rows: job id, lease_until, cancel_requested of those that hold.
-- Locks: the rows, in the order given.
UPDATE steadfast.job_hot AS job SET
    lease_until = least(
        clock.now + new.lease,
        job.started_at + job.timeout / 1000 + CASE WHEN new.within THEN 0 END,
        253402207200000000
    ),
    note = coalesce(new.note, job.note)
FROM
    unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::boolean[])
        AS new (id, fence, lease, note, within),
    (SELECT steadfast.time($1) AS now OFFSET 0) AS clock
WHERE job.id = new.id AND job.fence = new.fence AND job.state + 0 = 1
RETURNING job.id, job.lease_until, job.cancel_requested
