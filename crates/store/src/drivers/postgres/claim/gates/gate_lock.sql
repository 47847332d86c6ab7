-- Holds gates until the end of the transaction, as far as no other claim holds them. A caller that is
-- not heard of any more loses them.
-- Parameters: 1 numbers, 2 how long the caller may be silent, in milliseconds as text.
-- Rows: number. Locks: the rows, in the order of their numbers.
SELECT gate.number, set_config('idle_in_transaction_session_timeout', $2::text, true) AS silence
FROM steadfast.gate
WHERE gate.number = ANY($1::bigint[])
ORDER BY gate.number
FOR UPDATE SKIP LOCKED
