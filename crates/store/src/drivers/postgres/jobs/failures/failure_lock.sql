-- Only one transaction at a time changes groups; others can read them.
-- Parameters: none. Rows: none. Locks: the table of groups, against other writers.
LOCK TABLE steadfast.failure IN SHARE ROW EXCLUSIVE MODE
