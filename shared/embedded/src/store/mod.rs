//! The store's ports, a file each: plain functions over a connection, and the port as a thin front of them.

mod conversations;
mod dead_letters;
mod deliveries;
mod directory;
mod expiry;
mod inbox;
mod instances;
mod messages;
mod outbox;
mod overdue;

pub use expiry::Swept;

#[cfg(test)]
mod tests;
