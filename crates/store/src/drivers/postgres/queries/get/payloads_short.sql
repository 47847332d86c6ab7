-- The payloads of jobs that are short. The length of a long one is known without reading it.
-- Parameters: 1 job ids, 2 bytes, 3 the first and 4 the last day on which the ids were made.
-- Rows: id, payload. Locks: none.
SELECT id, payload FROM steadfast.job
WHERE id = ANY($1::uuid[]) AND octet_length(payload) <= $2::bigint
    AND (day <= 0 OR (day >= $3 AND day <= $4))
