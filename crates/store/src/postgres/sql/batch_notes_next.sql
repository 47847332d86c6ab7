-- Batches to whose jobs something has happened, those of each tenant in turn, and the page of notes
-- that they are found in: how many it has, the first and the last of them, the oldest transaction
-- that has not ended, and one that began after the last note was written.
-- Parameters: 1 behind this note, 2 notes, 3 batches to leave out, 4 batches. Rows: one, as named.
-- Locks: none.
WITH page AS MATERIALIZED (
    SELECT seq, batch FROM steadfast.batch_note WHERE seq > $1 ORDER BY seq LIMIT $2
), noted AS MATERIALIZED (
    SELECT page.batch, min(page.seq) AS first FROM page
    WHERE NOT EXISTS (
        SELECT 1 FROM unnest($3::uuid[]) AS passed (batch) WHERE passed.batch = page.batch
    )
    GROUP BY page.batch
), turns AS (
    SELECT noted.batch, noted.first, row_number() OVER (
        PARTITION BY (SELECT batch.tenant FROM steadfast.batch WHERE batch.id = noted.batch)
        ORDER BY noted.first
    ) AS turn
    FROM noted
)
SELECT
    whole.notes,
    whole.first,
    whole.last,
    ARRAY(SELECT turns.batch FROM turns ORDER BY turns.turn, turns.first LIMIT $4) AS batches,
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest_transaction,
    CASE WHEN whole.notes > 0 THEN pg_current_xact_id()::text::bigint END AS later_transaction
FROM (SELECT count(*) AS notes, min(page.seq) AS first, max(page.seq) AS last FROM page) AS whole
