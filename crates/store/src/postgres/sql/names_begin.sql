-- Notes that unused names are looked for, unless that was less than a day ago, another node does it, or
-- something that was under way at that time goes on.
-- Parameters: 1 now or null, 2 a day. Rows: at most one, when it was done last, and whether that is
-- in the past. Locks: the row, if it is free.
WITH clock AS (SELECT steadfast.time($1) AS now),
last AS (
    SELECT at, transaction FROM steadfast.name_search FOR UPDATE SKIP LOCKED
)
UPDATE steadfast.name_search AS search
SET at = clock.now, transaction = pg_current_xact_id()
FROM clock, last
WHERE
    last.at > clock.now
    OR (
        last.at <= clock.now - $2::bigint
        AND last.transaction < pg_snapshot_xmin(pg_current_snapshot())
    )
RETURNING last.at, last.at <= clock.now AS is_past
