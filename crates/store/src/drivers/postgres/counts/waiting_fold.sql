-- Moves what waits in minutes long past into minute 0.
-- Parameters: 1 minutes before this. Rows: none. Locks: the rows, and those of minute 0.
WITH past AS (
    DELETE FROM steadfast.waiting_count WHERE minute > 0 AND minute < $1
    RETURNING lane, waiting, retrying
)
INSERT INTO steadfast.waiting_count AS total (minute, lane, waiting, retrying)
SELECT 0, lane, sum(waiting), sum(retrying) FROM past
GROUP BY lane
ORDER BY lane
ON CONFLICT (minute, lane) DO UPDATE SET
    waiting = total.waiting + excluded.waiting,
    retrying = total.retrying + excluded.retrying
