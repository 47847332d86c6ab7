-- How many attempts run behind gates. After the gates are held, in a statement of its own, so that it
-- sees what the claim before this one has taken.
-- Parameters: 1 numbers. Rows: number, running. Locks: none.
SELECT asked.number, running.count
FROM unnest($1::bigint[]) AS asked (number)
CROSS JOIN LATERAL (
    SELECT count(*) FROM steadfast.gate_running WHERE gate_running.gate = asked.number
) AS running
