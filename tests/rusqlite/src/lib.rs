//! Gives the rusqlite of the workspace to a dependency that asks for an older one.

pub use newer::*;
