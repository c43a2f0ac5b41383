//! Tests of Recado against an emulator of AWS; nothing else. `make suite` starts the emulator and runs them:
//!
//! * `contract`: the stores' contract on `DynamoDB`, and what the queues promise on SQS, S3 and `EventBridge` Scheduler,
//! * `emulator`: the stack as `sam deploy` makes it, from webhook to provider, over HTTP.
