-- The batches of a page of events, the one with the oldest event first.
-- Parameters: 1 behind this number, 2 events of the page. Rows: batch, tenant, the first and the last number,
-- how many; no tenant if the batch was deleted. Locks: none.
SELECT page.batch, record.tenant, min(page.seq), max(page.seq), count(*)
FROM (
    SELECT seq, batch FROM steadfast_event WHERE kind = 1 AND seq > ?1 ORDER BY seq LIMIT ?2
) AS page
LEFT JOIN steadfast_record AS record ON record.kind = 'batch' AND record.id = page.batch
GROUP BY page.batch, record.tenant
ORDER BY 3
