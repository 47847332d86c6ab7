-- Jobs that retention may delete, as `Job::may_be_pruned` says: succeeded and cancelled jobs by
-- when they ended, and discarded ones by when they were discarded, the oldest of each first.
-- Both halves have an index of their own.
-- Parameters: 1 ended before, 2 keyed jobs created after this stay, 3 limit, 4 ended from,
-- 5 discarded from.
-- Rows: as named. Locks: read.
SELECT seq, id, lane, state, idempotency_key, schedule, has_tags, ended_at FROM (
    SELECT
        seq, id, lane, state, idempotency_key, schedule, tags IS NOT NULL AS has_tags,
        finished_at AS ended_at
    FROM steadfast_job
    WHERE
        state IN (2, 4) AND finished_at >= ?4 AND finished_at < ?1
        AND (idempotency_key IS NULL OR created_at <= ?2)
    ORDER BY finished_at
    LIMIT ?3
)
UNION ALL
SELECT seq, id, lane, state, idempotency_key, schedule, has_tags, ended_at FROM (
    SELECT
        seq, id, lane, state, idempotency_key, schedule, tags IS NOT NULL AS has_tags,
        resolved_at AS ended_at
    FROM steadfast_job
    WHERE
        resolved_at IS NOT NULL AND resolved_at >= ?5 AND resolved_at < ?1
        AND (idempotency_key IS NULL OR created_at <= ?2)
    ORDER BY resolved_at
    LIMIT ?3
)
LIMIT ?3
