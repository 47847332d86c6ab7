-- Schema 6: how often the documents of each kind have changed.
--
-- A node asks for these numbers and reads documents again only if one has moved on; a commit
-- compares the number of the endpoints with the one that it was decided with. Triggers count,
-- so that the changes of nodes of the version before count, too.
-- Locks: an advisory lock, which the runner holds; the table of documents, for a moment.

CREATE TABLE steadfast.document_version (
    space text PRIMARY KEY,
    version bigint NOT NULL
);

CREATE FUNCTION steadfast.document_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO steadfast.document_version AS counted (space, version)
    VALUES (coalesce(NEW.space, OLD.space), 1)
    ON CONFLICT (space) DO UPDATE SET version = counted.version + 1;
    RETURN NULL;
END
$$;

-- A node writes its own document every few seconds, and none is read in order to decide
-- anything; counting them would make all nodes queue for one row.
CREATE TRIGGER document_saved AFTER INSERT OR UPDATE ON steadfast.document
FOR EACH ROW WHEN (NEW.space <> 'node') EXECUTE FUNCTION steadfast.document_changed();
CREATE TRIGGER document_deleted AFTER DELETE ON steadfast.document
FOR EACH ROW WHEN (OLD.space <> 'node') EXECUTE FUNCTION steadfast.document_changed();
