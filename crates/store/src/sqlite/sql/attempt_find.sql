-- Whether an attempt has left exactly this record. Texts are compared as they were written.
-- Parameters: 1 job, then as named, in order. Rows: one if it has. Locks: read.
SELECT 1 FROM steadfast_attempt
WHERE
    job = ?1 AND fence = ?2 AND attempt = ?3 AND status = ?4 AND started_at = ?5
    AND finished_at = ?6 AND worker IS ?7 AND failure IS ?8 AND output IS ?9 AND note IS ?10
    AND decision IS ?11
