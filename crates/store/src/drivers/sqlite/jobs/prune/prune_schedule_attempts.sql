-- Takes a job's attempts out of the list of its schedule.
-- Parameters: 1 schedule id, 2 job id, 3 job. Rows: none. Locks: write.
DELETE FROM steadfast_schedule_attempt
WHERE (schedule, finished_at, job, fence) IN (
    SELECT ?1, finished_at, ?2, fence FROM steadfast_attempt WHERE job = ?3
)
