-- Marks lanes as unused that have neither jobs nor counts by the minute.
-- Parameters: 1 now, 2 keep at least this many lanes, 3 limit. Rows: none. Locks: the rows, if they are
-- free.
UPDATE steadfast.lane SET unused_since = $1
WHERE id = ANY(ARRAY(
    SELECT id FROM steadfast.lane AS known
    WHERE
        unused_since IS NULL AND (SELECT count(*) FROM steadfast.lane) > $2::bigint
        AND NOT EXISTS (SELECT 1 FROM steadfast.job WHERE job.lane = known.id AND job.lane > 0)
        AND NOT EXISTS (SELECT 1 FROM steadfast.count_change AS change WHERE change.lane = known.id)
        AND NOT EXISTS (SELECT 1 FROM steadfast.minute WHERE minute.lane = known.id)
        AND NOT EXISTS (SELECT 1 FROM steadfast.waiting_count AS count WHERE count.lane = known.id)
    LIMIT $3
    FOR UPDATE SKIP LOCKED
))
