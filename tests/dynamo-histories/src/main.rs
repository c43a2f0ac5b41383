//! `recado-sim-dynamo`: plays histories on the `DynamoDB` adapter.

use std::process::ExitCode;

fn main() -> ExitCode {
    recado_simulation::command::run(recado_dynamo_histories::history)
}
