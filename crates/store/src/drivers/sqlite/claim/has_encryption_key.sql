-- Whether values of this store are encrypted with a key.
-- Parameters: 1 key id. Rows: one if so. Locks: none.
SELECT 1 FROM steadfast_record WHERE kind = 'encryption_key' AND id = ?1
