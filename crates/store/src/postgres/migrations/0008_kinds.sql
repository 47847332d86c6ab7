-- Schema 8: kinds may be the names of classes, as App\Jobs\Send or My::Job.
--
-- Nodes of the version before pass over lanes of such kinds, and log that once.
-- Locks: an advisory lock, which the runner holds; the table of lanes, while it is read once.

ALTER TABLE steadfast.lane
    DROP CONSTRAINT lane_kind_check,
    ADD CONSTRAINT lane_kind_check CHECK (kind ~ '^[A-Za-z0-9_.:/\\@#-]{1,255}$');
