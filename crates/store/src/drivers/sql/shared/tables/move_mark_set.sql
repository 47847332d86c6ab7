-- Marks a store that is moved.
-- Parameters: 1 its side of the move, 2 the mark. Rows: none. Locks: the row.
INSERT INTO steadfast_record (kind, id, tenant, state, revision, body)
VALUES ('move', ?1, '', 'open', 1, ?2)
ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body
