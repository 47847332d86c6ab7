-- The revision of a schedule.
-- Parameters: 1 schedule id. Rows: revision, at most one. Locks: read.
SELECT revision FROM steadfast_schedule WHERE id = ?1
