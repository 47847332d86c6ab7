-- Forgets a key that no value is encrypted with.
-- Parameters: 1 key id. Rows: none. Locks: the row.
DELETE FROM steadfast_record WHERE kind = 'encryption_key' AND id = ?1
