-- Keeps lanes and policies from being deleted until a user's transaction ends.
-- Parameters: 1 lanes, 2 policies. Rows: how many of them are stored. Locks: the rows, against deletion.
SELECT
    (SELECT count(*) FROM (
        SELECT 1 FROM steadfast.lane WHERE id = ANY($1::bigint[]) FOR KEY SHARE
    ) AS lanes)
    + (SELECT count(*) FROM (
        SELECT 1 FROM steadfast.policy WHERE id = ANY($2::bigint[]) FOR KEY SHARE
    ) AS policies) AS held
