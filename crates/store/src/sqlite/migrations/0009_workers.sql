-- Schema 9: the documents of workers are not counted, as those of nodes are not.
--
-- Each worker writes its own now and then, and none is read in order to decide anything.
-- Locks: the whole file for writing, for the time of this script.

DROP TRIGGER steadfast_document_created;
DROP TRIGGER steadfast_document_changed;
DROP TRIGGER steadfast_document_deleted;

CREATE TRIGGER steadfast_document_created AFTER INSERT ON steadfast_document
WHEN NEW.space NOT IN ('node', 'worker') BEGIN
    INSERT INTO steadfast_document_version (space, version) VALUES (NEW.space, 1)
    ON CONFLICT (space) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER steadfast_document_changed AFTER UPDATE ON steadfast_document
WHEN NEW.space NOT IN ('node', 'worker') BEGIN
    INSERT INTO steadfast_document_version (space, version) VALUES (NEW.space, 1)
    ON CONFLICT (space) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER steadfast_document_deleted AFTER DELETE ON steadfast_document
WHEN OLD.space NOT IN ('node', 'worker') BEGIN
    INSERT INTO steadfast_document_version (space, version) VALUES (OLD.space, 1)
    ON CONFLICT (space) DO UPDATE SET version = version + 1;
END;
