-- How connections of ours plan and wait.
--
-- Every statement here is a nest of index searches by design. Prepared statements keep their
-- plan, and one that was made while the tables were small, or whose statistics are old, would
-- read a whole table or join by hashing it when they are large. So the ways to do that are
-- closed, and one plan is made for all parameters. Compiling such short statements costs more
-- than running them. A transaction whose node vanished must not hold its locks for long. A lock is
-- waited for as long as a statement may take, whatever the database or the role has as its default.
--
-- None of these takes a snapshot, so each transaction may begin with them.
-- Parameters: none. Rows: none. Locks: none.
SET jit = off;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET idle_in_transaction_session_timeout = '60s';
SET lock_timeout = 0;
