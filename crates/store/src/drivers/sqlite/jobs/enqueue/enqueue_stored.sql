-- The ids of the jobs that were stored last, in the same transaction.
-- Parameters: 1 numbers above this. Rows: id. Locks: read.
SELECT id FROM steadfast_job WHERE seq > ?1
