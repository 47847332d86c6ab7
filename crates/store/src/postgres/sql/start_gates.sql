-- How gates stand, without holding them.
-- Parameters: 1 numbers. Rows: as named, of those that were used. Locks: none.
SELECT gate.number, gate.next_start, gate.minute, gate.starts, gate.retries
FROM steadfast.gate
WHERE gate.number = ANY($1::bigint[])
