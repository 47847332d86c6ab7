-- How many jobs have a tag, as far as is worth counting.
-- Parameters: 1 tag, 2 tenant, or null for all, 3 at most. Rows: one. Locks: read.
SELECT count(*) AS found FROM (
    SELECT 1 FROM steadfast_tag WHERE ?2 IS NULL AND tag = ?1
    UNION ALL
    SELECT 1 FROM steadfast_tag INDEXED BY steadfast_tag_tenant WHERE tenant = ?2 AND tag = ?1
    LIMIT ?3
)
