-- Writes a message to the log of the database, which no program reads, and commits it durably.
-- Parameters: none. Rows: one, position: null if the server does not take writes. Locks: none.
SELECT
    CASE WHEN current_setting('transaction_read_only') = 'off'
        THEN pg_logical_emit_message(true, 'steadfast', ''::text)::text
    END AS position
