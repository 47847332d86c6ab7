-- What has happened to jobs of a batch, the oldest first. Several batches are asked for together.
-- Parameters: 1 behind this number, 2 limit for each, then batches. Rows: seq, batch, from_state, to_state.
-- Locks: none.
SELECT * FROM (
    SELECT seq, batch, from_state, to_state FROM steadfast_event
    WHERE batch = /*batch*/ AND seq > ?1
    ORDER BY seq
    LIMIT ?2
) AS /*name*/
