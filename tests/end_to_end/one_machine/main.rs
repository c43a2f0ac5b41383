//! The real `recado` binary, driven from outside: webhooks over HTTP in, stand-in Evolution, Meta, 360dialog and Anthropic
//! servers out, killed and restarted.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "test code: whatever is not as it should be ends the test"
)]

mod answering;
mod api_examples;
mod applying;
mod audit;
mod backups;
mod bad_input;
mod calendars;
mod canary;
mod changed_otherwise;
mod chaos;
mod clinic;
mod command_line;
mod command_table;
mod commands;
mod consent;
mod crashes;
mod deliveries;
mod delivery_service;
mod described_answers;
mod dialog360;
mod doctor;
mod email_senders;
mod emails;
mod everyday_commands;
mod examples;
mod files;
mod finding_the_server;
mod first_steps;
mod formats;
mod framing;
mod full_disk;
mod http_agents;
mod isolation;
mod keys;
mod knowledge;
mod knowledge_files;
mod knowledge_vectors;
mod limits;
mod machine;
mod mcp_server;
mod mcp_tools;
mod measurements;
mod meta;
mod metrics;
mod missed;
mod moving;
mod nights;
mod on_call;
mod onboarding;
mod operators;
mod payloads;
mod pdf_files;
mod removing;
mod replies;
mod resources;
mod restarts;
mod sends;
mod shutdown;
mod strangers;
mod traces;
mod waiting;
mod webhooks;
