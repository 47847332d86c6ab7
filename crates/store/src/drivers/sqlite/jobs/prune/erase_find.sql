-- A job that has ended and is no dead letter, as it is deleted.
-- Parameters: 1 job id. Rows: as named. Locks: read.
SELECT
    seq, id, lane, state, idempotency_key, schedule, tags IS NOT NULL AS has_tags,
    finished_at AS ended_at
FROM steadfast_job
WHERE id = ?1 AND state IN (2, 3, 4)
