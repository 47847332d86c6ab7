-- A store that is not moved any longer can be written to.
-- Parameters: none. Rows: none. Locks: every table, until it is gone.
DROP FUNCTION IF EXISTS steadfast_refuse_moved() CASCADE
