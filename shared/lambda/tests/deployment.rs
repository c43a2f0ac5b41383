//! The deployment: its programs, its template and the pages about it.

mod deploy;
mod papers;
mod stack;
