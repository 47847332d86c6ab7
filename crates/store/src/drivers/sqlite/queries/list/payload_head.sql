-- The beginning of a job's payload.
-- Parameters: 1 job, 2 characters. Rows: head. Locks: read.
SELECT substr(
    coalesce(payload, (SELECT body FROM steadfast_payload WHERE job = steadfast_job.seq)), 1, ?2
) AS head
FROM steadfast_job
WHERE seq = ?1
