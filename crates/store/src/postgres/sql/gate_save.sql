-- Stores how gates stand, which the transaction holds.
-- Parameters: 1 numbers, 2 next starts, 3 minutes, 4 starts, 5 retries. Rows: none. Locks: none more.
UPDATE steadfast.gate SET
    next_start = new.next_start, minute = new.minute, starts = new.starts, retries = new.retries
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
    AS new (number, next_start, minute, starts, retries)
WHERE gate.number = new.number
