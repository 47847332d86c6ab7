-- Adds what waits in minutes long past to minute 0. Those minutes are deleted next.
-- Parameters: 1 minutes before this. Rows: none. Locks: write.
INSERT INTO steadfast_waiting AS total (minute, lane, waiting, retrying)
SELECT 0, lane, sum(waiting), sum(retrying) FROM steadfast_waiting
WHERE minute > 0 AND minute < ?1
GROUP BY lane
ON CONFLICT (minute, lane) DO UPDATE SET
    waiting = total.waiting + excluded.waiting,
    retrying = total.retrying + excluded.retrying
