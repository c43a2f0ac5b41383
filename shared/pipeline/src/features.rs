//! The features of an installation, in one list for each question that the path of a message asks of them ([`crate::hooks`]).
