-- Rows of a table after a position, in the order of its key.
-- Parameters: the position, if there is one, then the limit. Rows: the key, then the columns asked for.
-- Locks: none.
SELECT /*key*/, /*columns*/ FROM /*table*/ /*conditions*/ ORDER BY /*key*/ LIMIT /*limit*/
