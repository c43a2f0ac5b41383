//! Events that are recorded and enqueued at once, by a backend whose records and queue lie in one database. (Where they lie
//! apart there is nothing to call.)

use crate::builders::Fixture;
use recado_domain::event::InboundJob;
use recado_ports::ports::{PortResult, Queues, RecordEventOutcome};

async fn record_and_enqueue<Q: Queues>(
    queues: &Q,
    events: &[InboundJob],
) -> Option<PortResult<Vec<RecordEventOutcome>>> {
    Some(queues.record_and_enqueue(events)?.await)
}

pub async fn an_event_that_comes_again_is_pending<Q: Queues>(queues: &Q) {
    let events = [Fixture::new().job()];
    for expected in [RecordEventOutcome::New, RecordEventOutcome::Pending] {
        if let Some(recorded) = record_and_enqueue(queues, &events).await {
            assert_eq!(recorded.unwrap(), [expected]);
        }
    }
}

pub async fn each_event_of_a_call_has_its_own_answer_in_their_order<Q: Queues>(queues: &Q) {
    let (known, new) = (Fixture::new().job(), Fixture::new().job());
    let _ = record_and_enqueue(queues, std::slice::from_ref(&known)).await;
    if let Some(recorded) = record_and_enqueue(queues, &[known, new.clone(), new]).await {
        let (new, pending) = (RecordEventOutcome::New, RecordEventOutcome::Pending);
        assert_eq!(recorded.unwrap(), [pending, new, pending]);
    }
}
