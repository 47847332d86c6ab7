-- Notes that a job has to look at those that it waits for.
-- Parameters: 1 job id. Rows: none. Locks: write.
INSERT INTO steadfast_link_note (job, dependant) VALUES (?1, ?1)
