-- The words of contacts' names, and their numbers, by which conversations are found. The row of a conversation has its `seq`. It is
-- written with the words of the conversation's next message (`index_next_messages`), so that a new conversation writes no page for
-- it; what changes later is written at once (`replace_contact_words`). `tenant`: as in `message_words`.
CREATE VIRTUAL TABLE contact_words USING fts5 (words, tenant, tokenize = 'unicode61 remove_diacritics 2');
-- What is erased leaves no bytes in the index.
INSERT INTO contact_words (contact_words, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER conversations_lose_words AFTER DELETE ON conversations
BEGIN
    DELETE FROM contact_words WHERE rowid = old.seq;
END;
