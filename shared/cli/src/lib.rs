//! The command line of Recado: commands that ask a running installation by its HTTP API.
//!
//! It knows neither the use cases nor a store. Commands that need these, such as `recado backup`, are part of the program.

#[macro_use]
extern crate recado_machine;

mod alerts;
mod answer_note;
mod api_command;
mod api_request;
mod audit;
mod catch_up;
mod client_command;
mod command_environment;
mod configuration;
pub mod confirm;
mod connect;
mod consent;
mod contact;
mod conversation_thread;
mod conversations;
mod credential;
mod deliveries;
mod delivery_batches;
pub mod demonstration;
pub mod dlq;
pub mod doctor;
mod effects;
mod event_follower;
mod find;
mod guests;
mod init;
pub mod installation;
mod instant;
mod json_fields;
mod knowledge;
#[cfg_attr(not(feature = "mcp"), path = "mcp_left_out.rs")]
mod mcp;
mod message_follower;
mod message_lines;
pub mod progress;
mod record;
mod replay;
mod say;
mod secret;
mod simulated_customer;
mod status;
mod tail;
mod tenant;
mod text_lines;
mod token;
mod trends;
mod try_command;
mod usage;
mod webhooks;

pub use client_command::{ClientCommand, run_client_command};
pub use command_environment::{CommandEnvironment, PdfReading, ReadPdf};
