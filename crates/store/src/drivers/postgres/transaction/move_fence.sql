-- Nothing is written any more to a store that is moved: a node that was away while the move began,
-- and believes that it may go on, is refused by every table. The locks wait for transactions that
-- are still writing, so that what they acknowledge is copied. Only the mark of the move changes.
-- Counts that are not in their totals yet would not be copied; the move adds them before.
-- Parameters: none. Rows: none. Locks: every table, until it is there.
DO $$
DECLARE
    fenced regclass;
BEGIN
    CREATE OR REPLACE FUNCTION steadfast_refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $refuse$
    BEGIN
        RAISE 'this store is being moved, or was moved: use the other one'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END
    $refuse$;
    FOR fenced IN
        SELECT oid::regclass FROM pg_class
        WHERE relkind IN ('r', 'p') AND relname NOT IN ('record', 'record_version')
            AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'steadfast_record'::regclass)
        ORDER BY relname
    LOOP
        EXECUTE format(
            'CREATE OR REPLACE TRIGGER moved BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s
            FOR EACH STATEMENT EXECUTE FUNCTION steadfast_refuse_moved()',
            fenced
        );
    END LOOP;
    CREATE OR REPLACE TRIGGER moved BEFORE INSERT OR UPDATE ON steadfast_record
    FOR EACH ROW WHEN (NEW.kind <> 'move') EXECUTE FUNCTION steadfast_refuse_moved();
    CREATE OR REPLACE TRIGGER moved_delete BEFORE DELETE ON steadfast_record
    FOR EACH ROW WHEN (OLD.kind <> 'move') EXECUTE FUNCTION steadfast_refuse_moved();
    IF EXISTS (SELECT 1 FROM steadfast_count_change) OR EXISTS (SELECT 1 FROM steadfast_failure_change) THEN
        RAISE 'the store changed while the move began: stop all nodes and programs that write to it'
            USING ERRCODE = 'object_in_use';
    END IF;
END
$$
