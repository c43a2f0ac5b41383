//! The steps: what several use cases share.

pub(crate) mod audit;
pub(crate) mod client_message;
pub(crate) mod connection;
pub(crate) mod due_message;
pub(crate) mod enabled_instance;
pub(crate) mod give_up;
pub(crate) mod history_reader;
pub(crate) mod idempotency;
pub(crate) mod identity;
pub mod installation_reading;
pub(crate) mod linked_threads;
pub(crate) mod message_view;
pub(crate) mod outgoing;
pub(crate) mod outgoing_check;
pub(crate) mod queue_message;
pub mod random_id;
pub(crate) mod reply_coverage;
pub(crate) mod requeue_dead;
pub(crate) mod save_conversation;
pub(crate) mod scope;
pub mod upload;
pub(crate) mod verdict;
pub(crate) mod wake_up;
pub(crate) mod webhook_items;
