-- Deletes old counts by the minute.
-- Parameters: 1 minutes before this, 2 limit. Rows: none. Locks: write.
DELETE FROM steadfast_minute WHERE (minute, lane) IN (
    SELECT minute, lane FROM steadfast_minute WHERE minute < ?1 LIMIT ?2
)
