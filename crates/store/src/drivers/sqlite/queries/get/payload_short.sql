-- The payload of a job, if it is short. The length of a long one is known without reading it.
-- Parameters: 1 job id, 2 bytes. Rows: payload, at most one. Locks: read.
SELECT payload FROM steadfast_job WHERE id = ?1 AND octet_length(payload) <= ?2
UNION ALL
SELECT steadfast_payload.body FROM steadfast_job
INNER JOIN steadfast_payload ON steadfast_payload.job = steadfast_job.seq
WHERE
    steadfast_job.id = ?1 AND steadfast_job.payload IS NULL
    AND octet_length(steadfast_payload.body) <= ?2
