-- The words of messages, by which conversations are found. The row of a message has its `seq`. It is written after the message, in
-- batches (`index_next_messages`), and goes with it. `tenant` is one word, so that a search reads the rows of one tenant.
CREATE VIRTUAL TABLE message_words USING fts5 (words, tenant, tokenize = 'unicode61 remove_diacritics 2');
-- What is deleted leaves no bytes in the index.
INSERT INTO message_words (message_words, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER messages_lose_words AFTER DELETE ON messages
BEGIN
    DELETE FROM message_words WHERE rowid = old.seq;
END;
