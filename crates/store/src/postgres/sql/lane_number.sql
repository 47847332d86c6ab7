-- The number of a lane, which is given one if it has none.
-- Parameters: 1 tenant, 2 queue, 3 kind, 4 now or null. Rows: id. Locks: the row, if it is new or has
-- not been used for a while.
SELECT steadfast.lane_number($1, $2, $3, $4) AS id
