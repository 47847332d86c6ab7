-- The time.
-- Parameters: 1 a time in the place of the database's, or null. Rows: one, now. Locks: none.
SELECT steadfast.time($1) AS now
