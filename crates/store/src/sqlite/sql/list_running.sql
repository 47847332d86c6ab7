-- Running jobs, newest id first; they are few, so they are sorted.
-- Parameters: 1 ids below this, 2 unused. Rows: job_row. Locks: read.
SELECT job_row.* FROM (
    SELECT seq, id FROM job INDEXED BY job_running
    WHERE state = 1 AND id < ?1 AND ?2 IS NULL
    ORDER BY id DESC
) AS found
CROSS JOIN job_row ON job_row.seq = found.seq
ORDER BY found.id DESC
