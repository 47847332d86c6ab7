-- How many lanes a tenant has, and whether some of them are among those named.
-- Parameters: 1 tenant, 2 how many are counted, 3 lanes as a JSON array. Rows: lanes, known. Locks: read.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM steadfast_lane WHERE tenant = ?1 LIMIT ?2)) AS lanes,
    (SELECT count(*) FROM steadfast_lane WHERE id IN (SELECT value FROM json_each(?3))) AS known
