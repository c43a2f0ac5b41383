//! What every backend must do, on the services of AWS as the emulator plays them; and a move to them and back.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "test code: whatever is not as it should be ends the test"
)]

#[path = "../account.rs"]
mod account;
mod dynamodb;
mod erasure;
mod moving;
mod queues;
