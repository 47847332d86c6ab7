-- Deletes the large payload of a job, if it has one.
-- Parameters: 1 job. Rows: none. Locks: write.
DELETE FROM steadfast_payload WHERE job = ?1
