-- Writes how far schedules have come, as new revisions of them, if their revision is the one
-- that was decided upon and no other transaction is changing them.
-- Parameters: arrays with one entry per schedule: 1 schedule id, 2 to 5 progress, 6 revision.
-- Rows: the ids of those that were written. Locks: their rows, which keeps others from firing
-- them meanwhile.
WITH new AS MATERIALIZED (
    SELECT * FROM unnest(
        $1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]
    ) AS new (id, next_tick, last_tick, runs, queued_tick, revision)
),
held AS MATERIALIZED (
    SELECT free.id
    FROM (SELECT id, revision FROM new ORDER BY id) AS new
    CROSS JOIN LATERAL (
        SELECT schedule.id FROM steadfast.schedule
        WHERE schedule.id = new.id AND schedule.revision = new.revision
        FOR UPDATE SKIP LOCKED
    ) AS free
)
UPDATE steadfast.schedule SET
    next_tick = new.next_tick,
    last_tick = new.last_tick,
    runs = new.runs,
    queued_tick = new.queued_tick,
    revision = schedule.revision + 1
FROM held
JOIN new ON new.id = held.id
WHERE schedule.id = held.id
RETURNING schedule.id
