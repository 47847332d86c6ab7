-- Leaves messages to the nodes.
-- Parameters: 1 messages. Rows: none. Locks: the new rows.
INSERT INTO steadfast.wake_request (message) SELECT unnest($1::text[])
