-- Appends what a transaction changed to the counts.
-- Parameters: arrays with one entry per lane and minute: 1 lane, 2 the minute for which jobs
-- wait, or null, 3 to 7 by state, 8 dead letters, 9 waiting for a retry.
-- Rows: none. Locks: the new rows.
INSERT INTO steadfast.count_change (
    lane, due_minute, waiting, running, succeeded, failed, cancelled, dead_letters, retrying
)
SELECT * FROM unnest(
    $1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::integer[], $6::integer[],
    $7::integer[], $8::integer[], $9::integer[]
)
