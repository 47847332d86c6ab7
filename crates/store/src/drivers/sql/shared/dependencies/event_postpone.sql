-- Adds an event again, behind all others. Dependants up to one are done.
-- Parameters: 1 number, 2 that dependant. Rows: none. Locks: the new row.
INSERT INTO steadfast_event (kind, job, worked_to)
SELECT kind, job, ?2 FROM steadfast_event WHERE seq = ?1
