use super::*;
use crate::millis::from_unix_millis;
use serde_json::json;

const HOUR: i64 = 3_600_000;

fn at(millis: i64) -> Timestamp {
    from_unix_millis(millis)
}

fn nonce(text: &str) -> Nonce {
    Nonce::parse(text).unwrap()
}

fn state() -> EndpointState {
    let (tenant, endpoint) = (
        TenantId::parse("t").unwrap(),
        WebhookEndpointId::parse("crm").unwrap(),
    );
    EndpointState::start_at(&tenant, &endpoint, EventCursor(0), nonce("salt"))
}

/// An event of the instance `lane`, published at `millis`.
fn event(lane: &str, millis: i64) -> PublishedEvent {
    serde_json::from_value(
        json!({"id": "pe_1", "tenant": "t", "kind": "instance.connection", "at": at(millis),
        "instance_id": lane}),
    )
    .unwrap()
}

/// A log of events of these instances, one after the other from place 1 on.
fn log(lanes: &[&str]) -> Vec<(EventCursor, PublishedEvent)> {
    let numbered = (1..).zip(lanes);
    numbered
        .map(|(number, lane)| (EventCursor(number), event(lane, 0)))
        .collect()
}

fn choose(state: &EndpointState, log: &[(EventCursor, PublishedEvent)], now: i64) -> Vec<u64> {
    let behind = log.iter().filter(|(cursor, _)| *cursor > state.cursor);
    let chosen = state.choose_posts(behind.map(|(cursor, event)| (*cursor, event)), at(now));
    chosen.into_iter().map(|cursor| cursor.0).collect()
}

fn result(cursor: u64, is_accepted: bool) -> PostResult {
    let error = PostError::Failed("it answered 500".to_owned());
    PostResult {
        cursor: EventCursor(cursor),
        error: (!is_accepted).then_some(error),
    }
}

/// Notes the results, and moves the place over the log.
fn note(
    state: &mut EndpointState,
    log: &[(EventCursor, PublishedEvent)],
    results: &[(u64, bool)],
    now: i64,
) -> Vec<LeftEvent> {
    let results: Vec<PostResult> = results
        .iter()
        .map(|(cursor, is_accepted)| result(*cursor, *is_accepted))
        .collect();
    let left = state.note_results(&results, at(now));
    let page = log.iter().filter(|(cursor, _)| *cursor > state.cursor);
    let page: Vec<_> = page.map(|(cursor, _)| (*cursor, true)).collect();
    let next = log.last().unwrap().0;
    state.move_place(page.into_iter(), next);
    left
}

#[test]
fn of_each_order_key_the_oldest_event_is_posted_and_the_next_when_it_was_accepted() {
    let log = log(&["a", "a", "b", "a", "c"]);
    let mut state = state();
    assert_eq!(choose(&state, &log, 0), [1, 3, 5]);
    note(&mut state, &log, &[(1, true), (3, true), (5, true)], 0);
    assert_eq!((state.cursor, choose(&state, &log, 0)), (EventCursor(1), vec![2]));
    note(&mut state, &log, &[(2, true)], 0);
    assert_eq!((state.cursor, choose(&state, &log, 0)), (EventCursor(3), vec![4]));
    note(&mut state, &log, &[(4, true)], 0);
    assert_eq!(state.cursor, EventCursor(5));
    assert!(state.told.is_empty() && choose(&state, &log, 0).is_empty());
}

#[test]
fn eight_events_at_most_are_posted_at_once_and_two_while_the_endpoint_fails() {
    let log = log(&["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
    let mut state = state();
    assert_eq!(choose(&state, &log, 0).len(), 8);
    note(&mut state, &log, &[(1, false)], 0);
    assert_eq!(choose(&state, &log, 5_000), [1, 2]);
}

#[test]
fn the_place_goes_over_what_is_not_wanted() {
    let mut state = state();
    let page = [
        (EventCursor(3), false),
        (EventCursor(4), true),
        (EventCursor(5), false),
    ];
    state.move_place(page.into_iter(), EventCursor(5));
    assert_eq!(state.cursor, EventCursor(3));
    state.note_results(&[result(4, true)], at(0));
    state.move_place(page.into_iter(), EventCursor(9));
    assert_eq!(state.cursor, EventCursor(9));
}

#[test]
fn an_event_that_is_refused_three_times_while_others_are_accepted_is_set_aside() {
    let log = log(&["a", "a", "b", "c", "d"]);
    let mut state = state();
    assert!(note(&mut state, &log, &[(1, false), (3, true)], 0).is_empty());
    assert_eq!(
        choose(&state, &log, 4_999),
        [4, 5],
        "its conversation waits for it"
    );
    assert!(note(&mut state, &log, &[(1, false), (4, true)], 5_000).is_empty());
    assert_eq!(choose(&state, &log, 24_999), [5], "longer each time");
    let left = note(&mut state, &log, &[(1, false), (5, true)], 25_000);
    let left: Vec<_> = left
        .iter()
        .map(|left| (left.cursor.0, left.since, left.attempts, left.is_given_up))
        .collect();
    assert_eq!(left, [(1, at(0), 3, false)]);
    assert_eq!(
        (state.cursor, choose(&state, &log, 25_000)),
        (EventCursor(1), vec![2])
    );
    assert_eq!(state.failures, 0, "the endpoint itself works");
}

#[test]
fn an_endpoint_is_tried_ever_more_seldom_and_at_least_once_an_hour() {
    let mut state = state();
    let mut waits = Vec::new();
    for _ in 0..8 {
        let now = state.next_at.unwrap_or(at(0));
        assert!(state.may_post(now));
        state.note_results(&[result(1, false)], now);
        let next = state.next_at.unwrap();
        assert!(!state.may_post(add_duration(next, SignedDuration::from_millis(-1))));
        waits.push(next.duration_since(now).as_secs());
    }
    assert_eq!(waits, [5, 20, 80, 320, 1_280, 3_600, 3_600, 3_600]);
    assert!(
        state.may_post(at(-2 * HOUR)),
        "a clock that ran ahead holds nothing up"
    );
}

#[test]
fn one_that_is_accepted_again_goes_on_as_if_nothing_had_been() {
    let log = log(&["a"]);
    let mut state = state();
    note(&mut state, &log, &[(1, false)], 0);
    assert_eq!((state.failing_since, state.failures), (Some(at(0)), 1));
    assert!(state.error.as_ref().unwrap().contains("500"));
    note(&mut state, &log, &[(1, true)], 5_000);
    assert_eq!(
        (state.cursor, state.failing_since, state.failures),
        (EventCursor(1), None, 0)
    );
    assert_eq!((state.accepted_at, state.error.as_ref()), (Some(at(5_000)), None));
    assert!(state.may_post(at(5_000)));
}

#[test]
fn events_are_given_up_once_they_and_the_failures_are_27_hours_old() {
    let mut log = log(&["a", "a", "b"]);
    log[2].1 = event("b", 10 * HOUR);
    let mut state = state();
    let wanted = |state: &EndpointState| {
        let behind = log
            .clone()
            .into_iter()
            .filter(|(cursor, _)| *cursor > state.cursor);
        behind.collect::<Vec<_>>()
    };
    let give_up = |state: &mut EndpointState, now: i64| {
        let events = wanted(state);
        let behind = events.iter().map(|(cursor, event)| (*cursor, event));
        let left = state.give_up_old_events(behind, at(now), usize::MAX);
        state.move_place(events.iter().map(|(cursor, _)| (*cursor, true)), EventCursor(3));
        left.iter()
            .map(|left| (left.cursor.0, left.is_given_up))
            .collect::<Vec<_>>()
    };
    assert!(
        give_up(&mut state, 40 * HOUR).is_empty(),
        "an endpoint that does not fail gives nothing up"
    );
    state.note_results(&[result(1, false)], at(HOUR));
    assert!(give_up(&mut state, 28 * HOUR - 1).is_empty());
    assert_eq!(give_up(&mut state, 28 * HOUR), [(1, true), (2, true)]);
    assert_eq!(state.cursor, EventCursor(2));
    assert!(give_up(&mut state, 37 * HOUR - 1).is_empty());
    assert_eq!(give_up(&mut state, 37 * HOUR), [(3, true)]);
}

#[test]
fn no_more_events_are_given_up_at_once_than_may_be_and_the_others_are_next() {
    let log = log(&["a", "a", "b"]);
    let mut state = state();
    state.note_results(&[result(1, false)], at(0));
    let mut give_up = || {
        let behind = log.iter().map(|(cursor, event)| (*cursor, event));
        let left = state.give_up_old_events(behind, at(28 * HOUR), 2);
        left.iter().map(|left| left.cursor.0).collect::<Vec<_>>()
    };
    let passes = [give_up(), give_up(), give_up()];
    assert_eq!(passes, [vec![1, 2], vec![3], vec![]]);
}

#[test]
fn an_endpoint_that_fails_for_days_or_is_gone_is_switched_off_until_somebody_resumes_it() {
    let mut failing = state();
    while failing.switched_off_at.is_none() {
        let now = failing.next_at.unwrap_or(at(0));
        failing.note_results(&[result(1, false)], now);
    }
    let off = failing.switched_off_at.unwrap();
    assert!(
        off >= at(5 * 24 * HOUR) && off <= at(5 * 24 * HOUR + HOUR),
        "{off}"
    );
    let mut gone = state();
    let answer = PostResult {
        cursor: EventCursor(1),
        error: Some(PostError::Gone),
    };
    gone.note_results(&[answer], at(0));
    for mut state in [failing, gone] {
        assert!(!state.may_post(at(i64::from(u32::MAX) * 1_000)));
        assert!(state.reported_since(at(0)).is_some());
        state.cursor = EventCursor(7);
        state.resume_posts(None);
        assert!(state.may_post(at(0)) && state.cursor == EventCursor(7));
        state.resume_posts(Some(EventCursor(2)));
        assert_eq!(state.cursor, EventCursor(2));
    }
}

#[test]
fn a_replay_posts_again_what_was_accepted_further_on() {
    let log = log(&["a", "b"]);
    let mut state = state();
    note(&mut state, &log, &[(1, false), (2, true)], 0);
    assert!(choose(&state, &log, 0).is_empty());
    state.resume_posts(Some(EventCursor(0)));
    assert_eq!(choose(&state, &log, 0), [1, 2]);
}

#[test]
fn an_endpoint_is_reported_after_an_hour() {
    let mut state = state();
    state.note_results(&[result(1, false)], at(0));
    assert_eq!(state.reported_since(at(HOUR - 1)), None);
    assert_eq!(state.reported_since(at(HOUR)), Some(at(0)));
}

#[test]
fn an_event_that_was_set_aside_is_tried_for_27_hours_and_again_as_long_after_a_redrive() {
    let left = LeftEvent {
        cursor: EventCursor(1),
        since: at(0),
        attempts: 3,
        is_given_up: false,
        error: "it answered 500".to_owned(),
    };
    let mut failed = FailedEvent::from_left(&state(), left, event("a", 0), at(25_000));
    assert_eq!(failed.next_at, Some(at(105_000)));
    let error = PostError::Failed("no answer came in time".to_owned());
    let try_until_given_up = |failed: &mut FailedEvent| {
        while let Some(next) = failed.next_at {
            failed.note_failure(&error, next);
        }
        failed.failed_at.as_millisecond()
    };
    let given_up = try_until_given_up(&mut failed);
    assert!((27 * HOUR..=28 * HOUR).contains(&given_up), "{given_up}");
    assert!((25..45).contains(&failed.attempts), "{}", failed.attempts);
    failed.redrive_event(at(100 * HOUR));
    assert_eq!(failed.next_at, Some(at(100 * HOUR)));
    assert!((127 * HOUR..=128 * HOUR).contains(&try_until_given_up(&mut failed)));
    assert!(failed.expires_at() > failed.failed_at);
}

#[test]
fn posts_are_signed_with_the_secret_before_until_its_overlap_is_over() {
    let mut salts = SigningSalts::new(nonce("one"));
    assert_eq!(salts.list_valid_salts(at(0)), [&nonce("one")]);
    salts.rotate_salt(nonce("two"), SignedDuration::from_secs(60), at(0));
    assert_eq!(salts.list_valid_salts(at(59_999)), [&nonce("two"), &nonce("one")]);
    assert_eq!(salts.list_valid_salts(at(60_000)), [&nonce("two")]);
    salts.rotate_salt(nonce("three"), SignedDuration::ZERO, at(0));
    assert_eq!(salts.list_valid_salts(at(0)), [&nonce("three")]);
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let log = log(&["a", "b", "c"]);
    let mut state = state();
    note(&mut state, &log, &[(1, false), (2, true)], 7);
    state
        .salts
        .rotate_salt(nonce("new"), SigningSalts::OVERLAP, at(7));
    let written = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<EndpointState>(&written).unwrap(), state);
}

#[test]
fn a_record_of_before_counts_its_writes_in_its_generation() {
    let state = state();
    let mut written = serde_json::to_value(&state).unwrap();
    let rev = written["rev"].as_u64().unwrap();
    written["rev"] = json!(rev + 7);
    let before: EndpointState = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(before.generation(), state.generation());
    // Before generations.
    written["rev"] = json!(7);
    let before: EndpointState = serde_json::from_value(written).unwrap();
    assert_eq!(before.generation(), 0);
}
