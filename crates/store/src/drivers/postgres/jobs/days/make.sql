-- Makes the partitions of a day, unless they are there.
-- Parameters: 1 day. Rows: one. Locks: what `steadfast.make_day` says.
SELECT steadfast.make_day($1)
