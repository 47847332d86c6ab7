-- Gates that are used, for the first time or again after a while.
-- Parameters: 1 now or null, 2 numbers. Rows: none. Locks: the rows, in the order of their numbers.
INSERT INTO steadfast.gate (number, used_at)
SELECT number, steadfast.time($1) FROM unnest($2::bigint[]) AS new (number) ORDER BY number
ON CONFLICT (number) DO UPDATE SET used_at = excluded.used_at WHERE gate.used_at < excluded.used_at
