//! The stack as `sam deploy` makes it, on the emulator: webhooks over HTTP in, stand-in Evolution, Meta and Anthropic
//! servers out. It is deployed once; tests run side by side on it, each with contacts of its own.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "test code: whatever is not as it should be ends the test"
)]

#[path = "../account.rs"]
mod account;
mod alarms;
mod authorization;
mod balance;
mod bench;
mod contact;
mod conversations;
mod counts;
mod crowd;
mod dead_letters;
mod deliveries;
mod delivery_service;
mod expired;
mod files;
mod hours;
mod idle_requests;
mod invitations;
mod knowledge;
mod logs;
mod metrics;
mod people;
mod published;
mod push;
mod queues;
mod replies;
mod reply_delays;
mod request_lines;
mod requests;
mod settings;
mod stack;
mod throttle;
