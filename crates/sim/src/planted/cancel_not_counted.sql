-- A defect: every other job that is cancelled is taken out of the counter again.
-- Parameters: none. Rows: none. Locks: write.
CREATE TRIGGER cancel_not_counted AFTER UPDATE OF state ON steadfast_job
WHEN new.state = 4 AND new.seq % 2 = 0
BEGIN
    UPDATE steadfast_lane SET cancelled = cancelled - 1 WHERE id = new.lane;
END
