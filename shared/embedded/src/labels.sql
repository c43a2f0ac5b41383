-- The labels of the conversations that have some: a copy of those in their records, by which lists find them.
CREATE TABLE conversation_labels (
    label TEXT NOT NULL,
    conversation TEXT NOT NULL,
    PRIMARY KEY (label, conversation)
) STRICT, WITHOUT ROWID;
-- The labels of one conversation, which are written anew or go with it (`replace_label_rows`).
CREATE INDEX conversation_labels_of_one ON conversation_labels (conversation);
CREATE TRIGGER conversations_lose_labels AFTER DELETE ON conversations
BEGIN
    DELETE FROM conversation_labels WHERE conversation = old.id;
END;
