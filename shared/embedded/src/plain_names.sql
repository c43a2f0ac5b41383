ALTER TABLE queue_messages RENAME COLUMN letter TO dead_letter;
