use super::*;
use crate::millis::from_unix_millis;

const HOUR: i64 = 3_600_000;

fn at(millis: i64) -> Timestamp {
    from_unix_millis(millis)
}

fn state() -> EndpointState {
    let (tenant, endpoint) = (TenantId::parse("t").unwrap(), WebhookEndpointId::parse("crm").unwrap());
    EndpointState::start_at(&tenant, &endpoint, EventCursor(7))
}

fn refused() -> PostError {
    PostError::Failed("it answered 500".to_owned())
}

/// Tries an event that was published at `published` whenever an attempt may be made, and returns when it was given up.
fn try_until_given_up(state: &mut EndpointState, published: Timestamp) -> Option<(Timestamp, u32)> {
    for attempt in 1.. {
        let now = state.next_at.map_or(published, |next| next.max(published));
        match state.note_failed(published, &refused(), now) {
            AfterFailure::GiveUp => return Some((now, attempt)),
            AfterFailure::Retry if state.switched_off_at.is_some() => return None,
            AfterFailure::Retry => {}
        }
    }
    None
}

#[test]
fn an_event_is_tried_for_27_hours_ever_more_seldom_and_at_least_once_an_hour() {
    let mut state = state();
    let (given_up, attempts) = try_until_given_up(&mut state, at(0)).unwrap();
    assert!((27 * HOUR..=28 * HOUR).contains(&given_up.as_millisecond()), "{given_up}");
    assert!((30..50).contains(&attempts), "{attempts}");
    assert_eq!(state.failing_since, Some(at(0)));
}

#[test]
fn each_event_behind_a_failing_one_is_tried_until_it_is_as_old() {
    let mut state = state();
    try_until_given_up(&mut state, at(0)).unwrap();
    let (given_up, _) = try_until_given_up(&mut state, at(2 * HOUR)).unwrap();
    assert!(given_up >= at(29 * HOUR), "{given_up}");
}

#[test]
fn one_that_is_accepted_again_goes_on_as_if_nothing_had_been() {
    let mut state = state();
    state.note_failed(at(0), &refused(), at(0));
    assert!(!state.may_post(at(4_999)) && state.may_post(at(5_000)));
    state.note_accepted(EventCursor(8), at(5_000));
    assert_eq!((state.cursor, state.failing_since, state.failures), (EventCursor(8), None, 0));
    assert!(state.may_post(at(5_000)));
    state.note_accepted(EventCursor(3), at(6_000));
    assert_eq!(state.cursor, EventCursor(8), "the place never goes back by itself");
}

#[test]
fn an_endpoint_that_fails_for_days_or_is_gone_is_switched_off_until_somebody_resumes_it() {
    let mut failing = state();
    let mut published = 0;
    while try_until_given_up(&mut failing, at(published)).is_some() {
        published += HOUR;
    }
    let off = failing.switched_off_at.unwrap();
    assert!(off >= at(5 * 24 * HOUR) && off <= at(5 * 24 * HOUR + HOUR), "{off}");
    let mut gone = state();
    gone.note_failed(at(0), &PostError::Gone, at(0));
    for mut state in [failing, gone] {
        assert!(!state.may_post(at(i64::from(u32::MAX) * 1_000)));
        assert!(state.reported_since(at(0)).is_some());
        state.resume_posts(None);
        assert!(state.may_post(at(0)) && state.cursor == EventCursor(7));
        state.resume_posts(Some(EventCursor(2)));
        assert_eq!(state.cursor, EventCursor(2));
    }
}

#[test]
fn a_missing_secret_is_waited_for_and_is_no_failure() {
    let mut state = state();
    for hour in 0..500 {
        let missing = PostError::NotConfigured("the secret is not set".to_owned());
        assert_eq!(state.note_failed(at(0), &missing, at(hour * HOUR)), AfterFailure::Retry);
    }
    assert_eq!((state.failures, state.failing_since, state.switched_off_at), (0, None, None));
    assert!(state.next_at.is_some() && state.error.is_some());
}

#[test]
fn an_endpoint_is_reported_after_an_hour() {
    let mut state = state();
    state.note_failed(at(0), &refused(), at(0));
    assert_eq!(state.reported_since(at(HOUR - 1)), None);
    assert_eq!(state.reported_since(at(HOUR)), Some(at(0)));
}
