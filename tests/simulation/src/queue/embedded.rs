use super::{Dead, Got, WorkQueues, visibility};
use futures::FutureExt;
use jiff::Timestamp;
use recado_domain::dead_letter::{QueueName, RedrivenLetter};
use recado_embedded::{Embedded, Receipt};
use recado_pipeline::ports::PortResult;
use std::future::Future;
use std::time::Duration;

/// In memory every operation is done where it is first polled.
fn at_once<T>(operation: impl Future<Output = PortResult<T>>) -> T {
    operation
        .now_or_never()
        .expect("an operation in memory does not wait")
        .expect("an operation in memory does not fail")
}

impl WorkQueues for Embedded {
    type Receipt = Receipt;

    fn receive(&self, queue: QueueName, max: usize) -> Vec<Got<Receipt>> {
        at_once(Embedded::receive_messages(self, queue, max, visibility(queue)))
            .into_iter()
            .map(|received| Got {
                receipt: received.receipt,
                group: received.group,
                receives: received.receives,
                body: received.body,
            })
            .collect()
    }

    fn for_message(&self, receipt: &Receipt) -> Self {
        Embedded::for_message(self, receipt)
    }

    fn delete(&self, receipt: &Receipt) {
        at_once(Embedded::delete_received(self, receipt));
    }

    fn put_off(&self, receipt: &Receipt, seconds: u64) {
        at_once(self.change_visibility(receipt, Duration::from_secs(seconds)));
    }

    fn next_visible(&self, queue: QueueName) -> Option<Timestamp> {
        at_once(Embedded::next_visible_at(self, queue))
    }

    fn dead(&self) -> Vec<Dead> {
        let of = |queue| at_once(Embedded::list_dead_messages(self, queue, usize::from(u16::MAX)));
        let copy = |dead: recado_embedded::DeadMessage| Dead {
            id: dead.id.unsigned_abs(),
            queue: dead.queue,
            copy_of: dead.dead_letter.map(|dead_letter| RedrivenLetter {
                dead_letter: dead_letter.id,
                failed_at: dead_letter.at,
            }),
            sent_at: dead.sent_at,
            body: dead.body,
        };
        QueueName::ALL.into_iter().flat_map(of).map(copy).collect()
    }

    fn move_back(&self, dead: &Dead) {
        let id = i64::try_from(dead.id).unwrap_or(i64::MAX);
        at_once(self.redrive_dead_message(dead.queue, id));
    }
}
