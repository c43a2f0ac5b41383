//! `recado-sim`: plays histories on `SQLite` in memory.

use std::process::ExitCode;

fn main() -> ExitCode {
    recado_simulation::command::run(recado_simulation::embedded::history)
}
