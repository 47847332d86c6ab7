-- Lets a job wait for another.
-- Parameters: 1 job id, 2 id of the other, 3 result. Rows: none. Locks: write.
INSERT INTO steadfast_dependency (job, prerequisite, result) VALUES (?1, ?2, ?3)
ON CONFLICT (job, prerequisite) DO NOTHING
