-- Gates that are used for the first time.
-- Parameters: 1 numbers. Rows: none. Locks: the new rows.
INSERT INTO steadfast.gate (number) SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING
