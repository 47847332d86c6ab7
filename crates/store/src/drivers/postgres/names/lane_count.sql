-- How many lanes a tenant has, and how many of those named are among them.
-- Parameters: 1 tenant, 2 how many are counted, 3 lanes. Rows: lanes, known. Locks: none.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM steadfast.lane WHERE tenant = $1 LIMIT $2) AS counted) AS lanes,
    (SELECT count(*) FROM steadfast.lane WHERE id = ANY($3)) AS known
