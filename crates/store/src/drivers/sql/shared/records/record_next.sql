-- The earliest time after another of the records in a state.
-- Parameters: 1 kind, 2 state, 3 time. Rows: one, at, null if there is none. Locks: none.
SELECT min(at) AS at FROM steadfast_record WHERE kind = ?1 AND state = ?2 AND at > ?3
