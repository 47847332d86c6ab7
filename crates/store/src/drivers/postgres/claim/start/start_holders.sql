-- Some of the attempts that run behind gates, those first that were counted first.
-- Parameters: 1 numbers of gates, 2 turns below which no counted attempt runs any more, 3 how many of
-- each. Rows: as named, by gate. Locks: none.
SELECT asked.number, holder.id, holder.tenant, holder.worker, holder.since
FROM unnest($1::bigint[], $2::bigint[]) AS asked (number, low)
CROSS JOIN LATERAL (
    SELECT job.id, lane.tenant, job.worker, coalesce(job.started_at, job.created_at) AS since
    FROM (
        (
            SELECT gate_running.job FROM steadfast.gate_running
            WHERE gate_running.gate = asked.number AND gate_running.turn = 0
            ORDER BY gate_running.job
            LIMIT $3::bigint
        )
        UNION ALL
        (
            SELECT gate_running.job FROM steadfast.gate_running
            WHERE gate_running.gate = asked.number AND gate_running.turn >= greatest(asked.low, 1)
            ORDER BY gate_running.turn, gate_running.job
            LIMIT $3::bigint
        )
        LIMIT $3::bigint
    ) AS counted
    JOIN steadfast.job_hot AS job ON job.id = counted.job
    JOIN steadfast.lane ON lane.id = job.lane
    WHERE job.state + 0 = 1
) AS holder
ORDER BY asked.number, holder.id
