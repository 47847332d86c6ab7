-- Whether a tick has fired.
-- Parameters: 1 schedule id, 2 tick. Rows: one if it has. Locks: read.
SELECT 1 FROM steadfast_tick WHERE schedule = ?1 AND tick = ?2 AND job IS NOT NULL
