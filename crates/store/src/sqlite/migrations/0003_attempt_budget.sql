-- Schema 3: an attempt record knows its retry budget.
--
-- Locks: the whole file for writing, for the time of this script.

-- How many attempts there were before the last manual retry, which started a new budget.
-- Records of older versions do not know, and count from the first attempt.
ALTER TABLE steadfast_attempt ADD COLUMN attempts_before INTEGER NOT NULL DEFAULT 0;
