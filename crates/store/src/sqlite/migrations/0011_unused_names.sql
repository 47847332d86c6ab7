-- Schema 11: lanes and policies say when they were used last, so that what nothing uses can go.
--
-- Locks: the whole file for writing, for the time of this script.

-- Written when a number is looked up, at most once an hour. What another process of the version
-- before adds is never taken for unused: it does not say when it uses a number again.
ALTER TABLE steadfast_lane ADD COLUMN used_at INTEGER NOT NULL DEFAULT 253402207200000000;
ALTER TABLE steadfast_policy ADD COLUMN used_at INTEGER NOT NULL DEFAULT 253402207200000000;
-- Such a process may go on with what it remembers; not for longer than a week.
UPDATE steadfast_lane SET used_at = (unixepoch('now') + 604800) * 1000000;
UPDATE steadfast_policy SET used_at = (unixepoch('now') + 604800) * 1000000;

-- When unused names were looked for last.
CREATE TABLE steadfast_name_search (
    at INTEGER NOT NULL
) STRICT;
INSERT INTO steadfast_name_search (at) VALUES (0);
