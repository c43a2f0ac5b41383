//! What a store does with an event whose record cannot be read.

use crate::builders::{Fixture, at, far_ahead};
use crate::ports::succeed;
use recado_domain::event::InboundJob;
use recado_ports::ports::{EventChange, OverdueWork, RecordEventOutcome, Store};
use recado_ports::records::dead_letters::find_dead_letter;

/// Looks at two pending events, of which the first is damaged; then settles that one, and looks for it again.
pub async fn a_damaged_event_hides_no_other_and_can_be_settled<S: Store>(
    store: &S,
    [damaged, sound]: &[InboundJob; 2],
) {
    let dead_letter = Fixture::new().dead_letter_of(damaged, at(1));
    let open = succeed(store.read_open_work(None, 10)).await;
    assert!(
        open.events.iter().any(|event| event.external == sound.external),
        "{open:?}"
    );
    let sound_work = OverdueWork::Event(sound.event.clone());
    let work = succeed(store.list_overdue(far_ahead(), 10)).await;
    assert!(work.contains(&sound_work), "{work:?}");
    // By these two reconcile tells it from an event that is enqueued again.
    let noted = store.record_reenqueue(&damaged.event, at(1)).await;
    assert!(noted.is_err_and(|error| !error.is_retryable()));
    let found = store.find_event(&damaged.event).await;
    assert!(found.is_err_and(|error| !error.is_retryable()));
    let settled = store.change_event(
        &damaged.event,
        EventChange::GiveUp {
            dead_letter: &dead_letter,
            expires: far_ahead(),
        },
    );
    assert!(succeed(settled).await);
    let letter = succeed(find_dead_letter(store, &dead_letter.id)).await;
    assert_eq!(letter, Some(dead_letter));
    let repeated = succeed(store.record_event(damaged)).await;
    assert_eq!(
        repeated,
        RecordEventOutcome::Settled,
        "its repeats are only acknowledged"
    );
    let work = succeed(store.list_overdue(far_ahead(), 10)).await;
    assert_eq!(work, [sound_work], "it is pending no longer");
    assert_eq!(
        succeed(store.record_event(sound)).await,
        RecordEventOutcome::Pending
    );
}
