-- Deletes old audit records.
-- Parameters: 1 those before this time, 2 limit. Rows: none. Locks: the rows.
DELETE FROM steadfast_audit WHERE id IN (
    SELECT id FROM steadfast_audit WHERE at < ?1 ORDER BY at LIMIT ?2
)
