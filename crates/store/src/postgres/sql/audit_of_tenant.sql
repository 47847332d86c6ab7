-- Audit records of a tenant, newest first.
-- Parameters: 1 those before this id, 2 tenant, 3 the name of the caller or null, 4 from this
-- action, 5 below this one, 6 from this time, 7 before that, 8 limit. Rows: body. Locks: none.
SELECT body FROM steadfast.audit
WHERE id < $1 AND tenant = $2 AND ($3::text IS NULL OR actor = $3)
    AND action >= $4 AND action < $5 AND at >= $6 AND at < $7
ORDER BY id DESC
LIMIT $8
