-- The logs of the claims of a job that have a number.
-- Parameters: 1 job id, 2 attempt. Rows: fence, body. Locks: none.
SELECT fence, body FROM steadfast_log WHERE job = ?1 AND attempt = ?2 ORDER BY fence
