-- Jobs that wait for the end of time, because a claim could not read them. They are the last of their
-- sublane and level, so each of these is one seek; of those that are not asked about, none is read.
-- Parameters: 1 the end of time, 2 limit. Rows: id. Locks: read.
WITH RECURSIVE strip (lane, sublane, level) AS (
    SELECT * FROM (
        SELECT lane, coalesce(sublane, 0), priority * 2 + (attempt > attempts_before)
        FROM steadfast_job
        WHERE state = 0
        ORDER BY lane, coalesce(sublane, 0), priority * 2 + (attempt > attempts_before)
        LIMIT 1
    )
    UNION ALL
    SELECT next.lane, coalesce(next.sublane, 0), next.priority * 2 + (next.attempt > next.attempts_before)
    FROM strip
    CROSS JOIN steadfast_job AS next
    WHERE next.seq = coalesce(
        (
            SELECT seq FROM steadfast_job
            WHERE
                state = 0 AND lane = strip.lane AND coalesce(sublane, 0) = strip.sublane
                AND priority * 2 + (attempt > attempts_before) > strip.level
            ORDER BY priority * 2 + (attempt > attempts_before)
            LIMIT 1
        ),
        (
            SELECT seq FROM steadfast_job
            WHERE state = 0 AND lane = strip.lane AND coalesce(sublane, 0) > strip.sublane
            ORDER BY coalesce(sublane, 0), priority * 2 + (attempt > attempts_before)
            LIMIT 1
        ),
        (
            SELECT seq FROM steadfast_job
            WHERE state = 0 AND lane > strip.lane
            ORDER BY lane, coalesce(sublane, 0), priority * 2 + (attempt > attempts_before)
            LIMIT 1
        )
    )
)
SELECT steadfast_job.id
FROM strip
CROSS JOIN steadfast_job
WHERE
    steadfast_job.state = 0 AND steadfast_job.lane = strip.lane
    AND coalesce(steadfast_job.sublane, 0) = strip.sublane
    AND steadfast_job.priority * 2 + (steadfast_job.attempt > steadfast_job.attempts_before) = strip.level
    AND steadfast_job.run_at = ?1
LIMIT ?2
