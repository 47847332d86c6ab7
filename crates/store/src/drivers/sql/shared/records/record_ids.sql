-- The ids of the records in a state.
-- Parameters: 1 kind, 2 state. Rows: id. Locks: none.
SELECT id FROM steadfast_record WHERE kind = ?1 AND state = ?2 ORDER BY id
