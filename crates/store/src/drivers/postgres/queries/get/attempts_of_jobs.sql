-- The first attempts of each of some jobs, without what they produced, no more than a limit of each, and
-- one more in all, which tells that there are more.
-- Parameters: 1 job ids, 2 limit. Rows: attempt, in the order of the ids. Locks: none.
SELECT
    wanted.id AS job, kept.fence, kept.attempt, kept.attempts_before, kept.status,
    kept.started_at, kept.finished_at, kept.worker, kept.failure, NULL::text AS output,
    NULL::text AS note, kept.decision, kept.usage
FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted (id, place)
CROSS JOIN LATERAL (
    SELECT * FROM steadfast.attempt AS own
    WHERE own.job = wanted.id
    ORDER BY own.fence
    LIMIT $2
) AS kept
ORDER BY wanted.place, kept.fence
LIMIT $2 + 1
