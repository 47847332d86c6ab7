-- The payloads of jobs that are short. The length of a long one is known without reading it.
-- Parameters: 1 job ids, 2 bytes. Rows: id, payload. Locks: none.
SELECT id, payload FROM steadfast.job
WHERE id = ANY($1::uuid[]) AND octet_length(payload) <= $2::bigint
