-- Some of the attempts that run behind gates.
-- Parameters: 1 numbers of gates, 2 how many of each. Rows: as named, by gate. Locks: none.
SELECT asked.number, holder.id, holder.tenant, holder.worker, holder.since
FROM unnest($1::bigint[]) AS asked (number)
CROSS JOIN LATERAL (
    SELECT job.id, lane.tenant, job.worker, coalesce(job.started_at, job.created_at) AS since
    FROM (
        SELECT gate_running.job FROM steadfast.gate_running
        WHERE gate_running.gate = asked.number
        ORDER BY gate_running.job
        LIMIT $2::bigint
    ) AS counted
    JOIN steadfast.job ON job.id = counted.job
    JOIN steadfast.lane ON lane.id = job.lane
    WHERE job.state + 0 = 1
) AS holder
ORDER BY asked.number, holder.id
