-- Writes records in place of those that this transaction has locked.
-- Parameters: of each row kind, id, tenant, name, state, time, revision, body. Rows: none. Locks: the rows.
INSERT INTO steadfast_record (kind, id, tenant, name, state, at, revision, body)
VALUES /*rows*/
ON CONFLICT (kind, id) DO UPDATE SET tenant = excluded.tenant, name = excluded.name, state = excluded.state,
    at = excluded.at, revision = excluded.revision, body = excluded.body
