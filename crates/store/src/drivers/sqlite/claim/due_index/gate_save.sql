-- Stores how a gate stands.
-- Parameters: as named, in order. Rows: none. Locks: write.
INSERT INTO steadfast_gate (number, next_start, minute, starts, retries, usage)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (number) DO UPDATE SET
    next_start = excluded.next_start,
    minute = excluded.minute,
    starts = excluded.starts,
    retries = excluded.retries,
    usage = excluded.usage
