-- Appends what a transaction changed to the counts.
-- Parameters: arrays with one entry per lane: 1 lane, 2 to 6 by state, 7 dead letters.
-- Rows: none. Locks: the new rows.
INSERT INTO steadfast.counted (
    lane, waiting, running, succeeded, failed, cancelled, dead_letters
)
SELECT * FROM unnest(
    $1::integer[], $2::integer[], $3::integer[], $4::integer[], $5::integer[], $6::integer[],
    $7::integer[]
)
