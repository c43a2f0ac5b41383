//! What became of a message.
