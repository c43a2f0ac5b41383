//! The server of one machine: all functions of Recado in one process.
//!
//! The program `recado` (`src/program`) joins it with the command line. It is a library of its own, so that a change of a command
//! does not compile the server again.

#[macro_use]
extern crate recado_machine;

mod alert_monitor;
mod background;
mod clock;
mod console;
mod endpoint_posts;
mod log_writer;
pub mod logging;
mod metrics;
pub mod serve;
mod service_manager;
mod start_checks;
mod start_file;
mod stop_signals;
mod webhook_recorder;
mod welcome;
mod word_indexing;
mod workers;
