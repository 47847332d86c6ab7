-- Gives an attempt its place in the list of its schedule.
-- Parameters: 1 schedule, 2 finished_at, 3 job id, 4 fence. Rows: none. Locks: write.
INSERT INTO steadfast_schedule_attempt (schedule, finished_at, job, fence) VALUES (?1, ?2, ?3, ?4)
