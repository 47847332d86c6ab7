-- Audit records, newest first.
-- Parameters: 1 below this id, 2 from this time, 3 before that, 4 from this action, 5 below that, 6 limit,
-- 7 to 9 the values of further conditions. Rows: id, body. Locks: none.
SELECT id, body FROM steadfast_audit
WHERE id < ?1 AND at >= ?2 AND at < ?3 AND action >= ?4 AND action < ?5 /*and*/
ORDER BY id DESC
LIMIT ?6
