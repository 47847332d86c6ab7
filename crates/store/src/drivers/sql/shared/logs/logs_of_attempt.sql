-- Logs of the claims of a job that have a number, from the one with a line on.
-- Parameters: 1 job id, 2 attempt, 3 the number of a line, 4 limit. Rows: fence, the number of the first
-- line, body. Locks: none.
SELECT fence, first_line, body FROM steadfast_log
WHERE job = ?1 AND attempt = ?2 AND fence >= coalesce((
    SELECT max(older.fence) FROM steadfast_log AS older
    WHERE older.job = ?1 AND older.attempt = ?2 AND older.first_line <= ?3
), 0)
ORDER BY fence
LIMIT ?4
