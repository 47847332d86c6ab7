-- Adds the changes of a transaction to the counts of waiting jobs of one lane and minute.
-- Parameters: 1 minute, 2 lane, 3 waiting, 4 of them for a retry. Rows: none. Locks: write.
INSERT INTO steadfast_waiting AS total (minute, lane, waiting, retrying)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (minute, lane) DO UPDATE SET
    waiting = total.waiting + excluded.waiting,
    retrying = total.retrying + excluded.retrying
