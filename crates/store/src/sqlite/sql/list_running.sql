-- Running jobs, newest id first; they are few, so they are sorted.
-- Parameters: 1 ids below this, 2 unused. Rows: steadfast_job_row. Locks: read.
SELECT steadfast_job_row.* FROM (
    SELECT seq, id FROM steadfast_job INDEXED BY steadfast_job_running
    WHERE state = 1 AND id < ?1 AND ?2 IS NULL
    ORDER BY id DESC
) AS found
CROSS JOIN steadfast_job_row ON steadfast_job_row.seq = found.seq
ORDER BY found.id DESC
