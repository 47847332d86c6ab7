-- Retry policies that no request has used for long. The newest stays, used or not, because its
-- number would be given again.
-- Parameters: 1 used before, 2 above which there must be so many, 3 limit. Rows: id. Locks: read.
SELECT id FROM steadfast_policy
WHERE
    used_at < ?1 AND id < (SELECT max(id) FROM steadfast_policy)
    AND (SELECT count(*) FROM steadfast_policy) > ?2
LIMIT ?3
