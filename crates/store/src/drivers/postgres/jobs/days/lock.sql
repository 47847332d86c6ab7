-- Lets nobody write to the partitions of a day any more.
-- Parameters: 1 day. Rows: one, whether there is anything to drop. Locks: the partitions, against writes.
SELECT steadfast.lock_day($1) AS is_locked
