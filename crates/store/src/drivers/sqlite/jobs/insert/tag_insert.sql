-- Notes a tag of a job.
-- Parameters: 1 tag, 2 job id, 3 tenant. Rows: none. Locks: write.
INSERT INTO steadfast_tag (tag, job, tenant) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
