-- Deletes old audit records.
-- Parameters: 1 those before this time, 2 limit. Rows: none. Locks: write.
DELETE FROM steadfast_audit WHERE id IN (
    SELECT id FROM steadfast_audit INDEXED BY steadfast_audit_age WHERE at < ?1 LIMIT ?2
)
