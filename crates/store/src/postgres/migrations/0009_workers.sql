-- Schema 9: the documents of workers are not counted, as those of nodes are not.
--
-- Each worker writes its own now and then, and none is read in order to decide anything; counting
-- them would make all queue for one row.
-- Locks: an advisory lock, which the runner holds; the table of documents, for a moment.

DROP TRIGGER document_saved ON steadfast.document;
DROP TRIGGER document_deleted ON steadfast.document;
CREATE TRIGGER document_saved AFTER INSERT OR UPDATE ON steadfast.document
FOR EACH ROW WHEN (NEW.space NOT IN ('node', 'worker'))
EXECUTE FUNCTION steadfast.document_changed();
CREATE TRIGGER document_deleted AFTER DELETE ON steadfast.document
FOR EACH ROW WHEN (OLD.space NOT IN ('node', 'worker'))
EXECUTE FUNCTION steadfast.document_changed();
