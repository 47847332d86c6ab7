-- Deletes the logs of a job's older claims.
-- Parameters: 1 job id, 2 the newest fence to delete. Rows: none. Locks: the rows.
DELETE FROM steadfast_log WHERE job = ?1 AND fence <= ?2
