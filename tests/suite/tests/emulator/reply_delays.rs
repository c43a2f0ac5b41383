//! The time that Recado adds to a reply on AWS, beside the model and the debounce: a model of delays over the requests of a message. The
//! emulator's own times say nothing of AWS. That a message takes these requests, and no others, is held by the test of its requests.

use crate::counts::{list_requests, read_counts};

/// The least time from a message's arrival in a queue to the run that it starts, and those of requests, in milliseconds. They are
/// assumed, as usual within a region.
const HOP_MS: u32 = 50;
const DYNAMODB_MS: u32 = 5;
const SQS_MS: u32 = 10;

/// What happens one after the other from a webhook to `sendText`.
#[derive(Debug)]
struct ReplyPath {
    /// Queue messages, each of which starts a run.
    hops: u32,
    dynamodb_requests: u32,
    sqs_requests: u32,
    /// Time by which the wait of the debounce is longer than wanted, in the mean.
    rounding_ms: u32,
}

impl ReplyPath {
    fn delay_ms(&self) -> u32 {
        self.hops * HOP_MS
            + self.dynamodb_requests * DYNAMODB_MS
            + self.sqs_requests * SQS_MS
            + self.rounding_ms
    }
}

/// The path while a queue and the function `sender` stood between a turn and its reply, each wait was rounded up to whole seconds, and an
/// attempt was claimed by a request of its own.
const BY_SENDER: ReplyPath = ReplyPath {
    hops: 3,
    dynamodb_requests: 9,
    sqs_requests: 3,
    rounding_ms: 500,
};

/// Most of the delays of [`BY_SENDER`] that may be left, in percent.
const PERCENT_MAX: u32 = 60;

/// Reads the path of a message out of its counted requests.
fn read_path() -> ReplyPath {
    let counts = read_counts();
    let functions = &counts["answered_message"]["requests"];
    let in_order = ["webhook", "processor", "deferred-reply"].into_iter();
    let requests = in_order.flat_map(|function| list_requests(&functions[function]));
    let mut names: Vec<String> = requests.map(|(name, _)| name).collect();
    // The last one stores what the provider answered.
    assert_eq!(names.pop().as_deref(), Some("DynamoDB TransactWriteItems"));
    let count = |service: &str| {
        let requests = names.iter().filter(|name| name.starts_with(service)).count();
        u32::try_from(requests).unwrap()
    };
    ReplyPath {
        hops: count("SQS SendMessage"),
        dynamodb_requests: count("DynamoDB "),
        sqs_requests: count("SQS "),
        // A run waits for the part of a second that the queue does not keep.
        rounding_ms: 0,
    }
}

#[test]
fn a_reply_leaves_two_queues_behind_its_webhook_and_after_at_most_60_percent_of_what_a_third_queue_took() {
    let counts = read_counts();
    let of_sender = &counts["answered_message"]["requests"]["sender"];
    assert!(list_requests(of_sender).is_empty(), "no run of it takes part");
    let path = read_path();
    assert_eq!(path.hops, 2, "{path:?}");
    assert!(
        path.delay_ms() * 100 <= BY_SENDER.delay_ms() * PERCENT_MAX,
        "{} ms instead of {} ms",
        path.delay_ms(),
        BY_SENDER.delay_ms()
    );
}
