-- Schema 7: what tells a file whose log is gone from one that was closed.
--
-- `folded` is written into the file itself and `logged` then into the log beside it, which is
-- where both are equal: a file alone in which they differ has lost its log.
-- Locks: the whole file for writing, for the time of this script.

CREATE TABLE steadfast_log_mark (
    folded INTEGER NOT NULL,
    logged INTEGER NOT NULL
) STRICT;
INSERT INTO steadfast_log_mark (folded, logged) VALUES (0, 0);
