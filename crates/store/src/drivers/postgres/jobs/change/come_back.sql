-- Brings ended jobs back to the hot ones, on rows that are locked: a trigger must see what becomes of them.
-- Parameters: 1 job ids. Rows: none. Locks: the rows.
UPDATE steadfast.job SET day = -1 WHERE id = ANY($1::uuid[]) AND day >= 0
