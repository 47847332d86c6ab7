-- Schema 6: how often the documents of each kind have changed.
--
-- A node asks for these numbers and reads documents again only if one has moved on; a commit
-- compares the number of the endpoints with the one that it was decided with.
-- Locks: the whole file for writing, for the time of this script.

CREATE TABLE steadfast_document_version (
    space TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A node writes its own document every few seconds, and none is read in order to decide
-- anything.
CREATE TRIGGER steadfast_document_created AFTER INSERT ON steadfast_document
WHEN NEW.space <> 'node' BEGIN
    INSERT INTO steadfast_document_version (space, version) VALUES (NEW.space, 1)
    ON CONFLICT (space) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER steadfast_document_changed AFTER UPDATE ON steadfast_document
WHEN NEW.space <> 'node' BEGIN
    INSERT INTO steadfast_document_version (space, version) VALUES (NEW.space, 1)
    ON CONFLICT (space) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER steadfast_document_deleted AFTER DELETE ON steadfast_document
WHEN OLD.space <> 'node' BEGIN
    INSERT INTO steadfast_document_version (space, version) VALUES (OLD.space, 1)
    ON CONFLICT (space) DO UPDATE SET version = version + 1;
END;
