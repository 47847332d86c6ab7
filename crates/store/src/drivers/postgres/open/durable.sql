-- Makes a commit wait for the disk, unless it waits for more already.
-- Parameters: none. Rows: one if the setting was changed. Locks: none.
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'
