-- Audit records about one thing, newest first.
-- Parameters: 1 those before this id, 2 tenant or null, 3 the name of the caller or null, 4 from this
-- action, 5 below this one, 6 from this time, 7 before that, 8 limit, 9 subject. Rows: body. Locks: read.
SELECT body FROM steadfast_audit INDEXED BY steadfast_audit_subject
WHERE subject = ?9 AND id < ?1 AND (?2 IS NULL OR tenant = ?2) AND (?3 IS NULL OR actor = ?3)
    AND action >= ?4 AND action < ?5 AND at >= ?6 AND at < ?7
ORDER BY id DESC
LIMIT ?8
