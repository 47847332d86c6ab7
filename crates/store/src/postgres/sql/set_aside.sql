-- Takes jobs that cannot be read out of the way of the others, as if they had not been
-- claimed. They stay where they can be mended.
-- Parameters: 1 job ids, 2 a time that does not come. Rows: none. Locks: the rows.
WITH aside AS (
    UPDATE steadfast.job SET state = 0, run_at = $2, attempt = attempt - 1, lease_until = NULL
    WHERE id = ANY($1::uuid[]) AND state + 0 = 1
    RETURNING lane
)
INSERT INTO steadfast.counted (lane, waiting, running)
SELECT lane, count(*), - count(*) FROM aside GROUP BY lane
