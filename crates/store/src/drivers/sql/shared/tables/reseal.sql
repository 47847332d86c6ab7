-- Writes a value that was encrypted again, unless it was changed since it was read.
-- Parameters: 1 the new value, 2 the old value, then the key. Rows: none. Locks: the row.
UPDATE /*table*/ SET /*column*/ = ?1 WHERE /*column*/ = ?2 AND (/*key*/) = /*values*/
