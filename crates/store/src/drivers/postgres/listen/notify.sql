-- Notifies other nodes, in the order of the messages, when the transaction commits.
-- Parameters: 1 channel, 2 messages. Rows: one for each. Locks: none.
SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message
