-- The keys that values of this store are encrypted with.
-- Parameters: none. Rows: key id. Locks: none.
SELECT id FROM steadfast_record WHERE kind = 'encryption_key' ORDER BY id
