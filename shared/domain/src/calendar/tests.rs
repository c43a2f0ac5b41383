mod properties;

use super::*;
use crate::effects::CellSpan;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

fn span(from: &str, to: &str) -> TimeSpan {
    TimeSpan {
        from: at(from),
        to: at(to),
    }
}

/// Rules without notice, of which a test names what it is about.
fn rules(hours: &Value, more: &Value) -> BookingRules {
    let mut written = json!({"hours": hours, "notice_minutes": 0});
    for (name, value) in more.as_object().unwrap() {
        written[name] = value.clone();
    }
    let rules: BookingRules = serde_json::from_value(written).unwrap();
    rules.check_rules().unwrap();
    rules
}

/// The begins of the free slots of a time, by the clock on the wall with the offset.
fn starts(
    rules: &BookingRules,
    zone: &TimeZone,
    minutes: i64,
    window: TimeSpan,
    busy: &[TimeSpan],
) -> Vec<String> {
    let query = SlotQuery {
        now: window.from,
        window,
        duration: SignedDuration::from_mins(minutes),
        busy,
        held: &[],
        limit: 100,
    };
    let found = rules.find_free_slots(&query, zone);
    assert_eq!(found.next_start, None);
    let starts = found.slots.iter().map(|slot| slot.format_start(zone));
    starts.map(|text| text[11..].to_owned()).collect()
}

#[test]
fn slots_lie_within_the_hours_on_the_grid_and_beside_what_is_busy() {
    let sao_paulo = zone("America/Sao_Paulo");
    let rules = rules(
        &json!({"tue": ["09:10-12:00", "13:00-15:00"]}),
        &json!({"grid_minutes": 30}),
    );
    let day = span("2026-11-24T00:00:00Z", "2026-11-25T03:00:00Z");
    let of = |minutes, busy: &[TimeSpan]| starts(&rules, &sao_paulo, minutes, day, busy).join(" ");
    assert_eq!(
        of(60, &[]),
        "09:30:00-03:00 10:00:00-03:00 10:30:00-03:00 11:00:00-03:00 13:00:00-03:00 13:30:00-03:00 14:00:00-03:00"
    );
    // 10:15 to 10:30 is taken, and 13:00 to 13:30; what ends at a begin does not disturb it.
    let busy = [
        span("2026-11-24T16:00:00Z", "2026-11-24T16:30:00Z"),
        span("2026-11-24T13:15:00Z", "2026-11-24T13:30:00Z"),
    ];
    assert_eq!(
        of(60, &busy),
        "10:30:00-03:00 11:00:00-03:00 13:30:00-03:00 14:00:00-03:00"
    );
    // An event that takes no time disturbs nobody.
    let empty = [span("2026-11-24T13:30:00Z", "2026-11-24T13:30:00Z")];
    assert_eq!(of(120, &empty), "09:30:00-03:00 10:00:00-03:00 13:00:00-03:00");
}

#[test]
fn buffers_are_free_but_need_not_be_within_the_hours() {
    let rules = rules(
        &json!({"tue": ["09:00-11:00"]}),
        &json!({"buffer_before_minutes": 10, "buffer_after_minutes": 20}),
    );
    let day = span("2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z");
    let of = |busy: &[TimeSpan]| starts(&rules, &TimeZone::UTC, 30, day, busy);
    assert_eq!(of(&[]).len(), 7);
    let busy = [
        span("2026-11-24T08:00:00Z", "2026-11-24T08:50:00Z"),
        span("2026-11-24T09:50:00Z", "2026-11-24T10:05:00Z"),
    ];
    // 09:00 ends at 09:50 with its buffer; 10:15 begins at 10:05 with its own.
    assert_eq!(of(&busy), ["09:00:00+00:00", "10:15:00+00:00", "10:30:00+00:00"]);
}

#[test]
fn cells_of_other_appointments_are_compared_as_cells() {
    let rules = rules(&json!({"tue": ["09:00-11:00"]}), &json!({"grid_minutes": 10}));
    let held = [CellSpan {
        calendar: "agenda".to_owned(),
        start: at("2026-11-24T10:00:00Z"),
        end: at("2026-11-24T10:20:00Z"),
    }];
    let query = SlotQuery {
        now: at("2026-11-24T00:00:00Z"),
        window: span("2026-11-24T09:40:00Z", "2026-11-24T10:40:00Z"),
        duration: SignedDuration::from_mins(20),
        busy: &[],
        held: &held,
        limit: 100,
    };
    let found = rules.find_free_slots(&query, &TimeZone::UTC).slots;
    let begins: Vec<String> = found.iter().map(|slot| slot.start.to_string()).collect();
    // The appointment holds its cells up to 10:30.
    assert_eq!(begins, ["2026-11-24T09:40:00Z", "2026-11-24T10:30:00Z"]);
    let refused = rules.check_slot(at("2026-11-24T10:20:00Z"), &query, &TimeZone::UTC);
    assert_eq!(refused, Err(SlotRefusal::Taken));
}

#[test]
fn notice_horizon_window_and_limit_bound_what_is_offered() {
    let every_day = json!({"mon": ["00:00-24:00"], "tue": ["00:00-24:00"], "wed": ["00:00-24:00"]});
    let rules = rules(
        &every_day,
        &json!({"notice_minutes": 90, "horizon_days": 1, "grid_minutes": 60}),
    );
    let now = at("2026-11-23T10:30:00Z");
    let query = |from, to, limit| SlotQuery {
        now,
        window: span(from, to),
        duration: SignedDuration::from_mins(60),
        busy: &[],
        held: &[],
        limit,
    };
    let all = query("2026-11-01T00:00:00Z", "2027-11-01T00:00:00Z", 100);
    let found = rules.find_free_slots(&all, &TimeZone::UTC);
    let ends = (
        found.slots.first().unwrap().start,
        found.slots.last().unwrap().start,
    );
    assert_eq!(ends, (at("2026-11-23T12:00:00Z"), at("2026-11-24T10:00:00Z")));
    assert_eq!((found.slots.len(), found.next_start), (23, None));
    let whole_hour = SlotQuery {
        now: at("2026-11-23T10:00:00Z"),
        ..all
    };
    let found = rules.find_free_slots(&whole_hour, &TimeZone::UTC);
    assert_eq!(found.slots.last().unwrap().start, at("2026-11-24T10:00:00Z"));
    let few = rules.find_free_slots(
        &query("2026-11-23T13:00:00Z", "2026-11-23T17:00:00Z", 3),
        &TimeZone::UTC,
    );
    assert_eq!(
        (few.slots.len(), few.next_start),
        (3, Some(at("2026-11-23T16:00:00Z")))
    );
    assert_eq!(few.slots[0].start, at("2026-11-23T13:00:00Z"));
    let exact = rules.find_free_slots(
        &query("2026-11-23T13:00:00Z", "2026-11-23T16:00:00Z", 3),
        &TimeZone::UTC,
    );
    assert_eq!((exact.slots.len(), exact.next_start), (3, None));
    for (start, refusal) in [
        ("2026-11-23T11:00:00Z", SlotRefusal::TooSoon),
        ("2026-11-24T11:00:00Z", SlotRefusal::TooFar),
        ("2026-11-23T12:00:30Z", SlotRefusal::OffGrid),
        ("2026-11-23T12:20:00Z", SlotRefusal::OffGrid),
    ] {
        assert_eq!(
            rules.check_slot(at(start), &all, &TimeZone::UTC),
            Err(refusal),
            "{start}"
        );
    }
    assert_eq!(
        rules.find_span_to_ask(
            span("2026-11-25T00:00:00Z", "2026-11-26T00:00:00Z"),
            all.duration,
            now
        ),
        None
    );
    assert_eq!(
        rules.find_span_to_ask(all.window, all.duration, now),
        Some(span("2026-11-23T12:00:00Z", "2026-11-24T11:30:00Z"))
    );
}

#[test]
fn a_time_that_the_clocks_skip_is_no_slot_and_one_that_occurs_twice_is_two_times() {
    let berlin = zone("Europe/Berlin");
    let night = rules(&json!({"sun": ["01:00-05:00"]}), &json!({"grid_minutes": 30}));
    // From 02:00 to 03:00 on 2026-03-29.
    let gap = span("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z");
    assert_eq!(
        starts(&night, &berlin, 60, gap, &[]),
        [
            "01:00:00+01:00",
            "01:30:00+01:00",
            "03:00:00+02:00",
            "03:30:00+02:00",
            "04:00:00+02:00"
        ]
    );
    // From 03:00 back to 02:00 on 2026-10-25: the appointment of 01:30 ends at the second 02:30 only if it takes two hours.
    let twice = span("2026-10-24T22:00:00Z", "2026-10-25T22:00:00Z");
    assert_eq!(
        starts(&night, &berlin, 120, twice, &[]),
        [
            "01:00:00+02:00",
            "01:30:00+02:00",
            "02:00:00+02:00",
            "02:30:00+02:00",
            "02:00:00+01:00",
            "02:30:00+01:00",
            "03:00:00+01:00"
        ]
    );
    assert_eq!(
        parse_slot_start("2026-10-25T02:30:00", &berlin),
        Err(SlotTextError::Twice)
    );
    assert_eq!(
        parse_slot_start("2026-03-29 02:30", &berlin),
        Err(SlotTextError::Skipped)
    );
}

#[test]
fn a_slot_is_told_with_weekday_and_offset_and_read_again() {
    let sao_paulo = zone("America/Sao_Paulo");
    let slot = FreeSlot {
        start: at("2026-11-24T13:00:00Z"),
        end: at("2026-11-24T13:30:00Z"),
    };
    assert_eq!(
        slot.format_for_model(&sao_paulo),
        "Tue 2026-11-24 10:00-10:30 (start 2026-11-24T10:00:00-03:00)"
    );
    let late = FreeSlot {
        start: at("2026-11-25T02:30:00Z"),
        end: at("2026-11-25T03:15:00Z"),
    };
    assert_eq!(
        late.format_for_model(&sao_paulo),
        "Tue 2026-11-24 23:30-2026-11-25 00:15 (start 2026-11-24T23:30:00-03:00)"
    );
    assert_eq!(
        parse_slot_start(&slot.format_start(&sao_paulo), &sao_paulo),
        Ok(slot.start)
    );
    assert_eq!(parse_slot_start(" 2026-11-24T10:00 ", &sao_paulo), Ok(slot.start));
    assert_eq!(
        parse_slot_start("2026-11-24T13:00:00Z", &sao_paulo),
        Ok(slot.start)
    );
    for bad in ["", "tomorrow", "2026-11-24", "10:00", "2026-13-40T10:00:00"] {
        assert_eq!(
            parse_slot_start(bad, &sao_paulo),
            Err(SlotTextError::Format),
            "{bad}"
        );
    }
}

#[test]
fn an_appointment_holds_its_time_with_the_buffers() {
    let buffered = rules(
        &json!({"tue": ["09:00-18:00"]}),
        &json!({"buffer_before_minutes": 10, "buffer_after_minutes": 5}),
    );
    let slot = FreeSlot {
        start: at("2026-11-24T10:00:00Z"),
        end: at("2026-11-24T10:30:00Z"),
    };
    let held = buffered.span_to_hold("agenda", slot);
    assert_eq!(
        (held.calendar.as_str(), held.start, held.end),
        ("agenda", at("2026-11-24T09:50:00Z"), at("2026-11-24T10:35:00Z"))
    );
    let wide = TimeSpan {
        from: held.start,
        to: held.end,
    };
    assert_eq!(buffered.span_within_buffers(wide), Some(slot.to_time_span()));
    let short = TimeSpan {
        to: wide.from + SignedDuration::from_mins(15),
        ..wide
    };
    assert_eq!(buffered.span_within_buffers(short), None);
    let cells = held.list_cells();
    let ends = (cells[0].start, cells[cells.len() - 1].start);
    assert_eq!(ends, (at("2026-11-24T09:45:00Z"), at("2026-11-24T10:30:00Z")));
}

#[test]
fn the_longest_appointment_has_cells_wherever_it_begins() {
    let plain = rules(&json!({"tue": ["00:00-24:00"]}), &json!({"grid_minutes": 5}));
    let longest = plain.check_duration(585).unwrap();
    for minute in 0..15 {
        let start = at("2026-11-24T00:00:00Z") + SignedDuration::from_mins(minute);
        let slot = FreeSlot {
            start,
            end: start + longest,
        };
        plain.span_to_hold("agenda", slot).check_length().unwrap();
    }
    assert_eq!(plain.check_duration(586), Err(BookingRulesError::Duration));
}

#[test]
fn rules_that_nobody_can_mean_are_refused() {
    let refusal = |more: Value| {
        let mut written = json!({"hours": {"tue": ["09:00-18:00"]}});
        for (name, value) in more.as_object().unwrap() {
            written[name] = value.clone();
        }
        let rules: BookingRules = serde_json::from_value(written).unwrap();
        rules.check_rules().map_err(|error| error.to_string())
    };
    assert_eq!(refusal(json!({})), Ok(()));
    for (more, expected) in [
        (json!({"grid_minutes": 7}), "grid_minutes"),
        (json!({"grid_minutes": 0}), "grid_minutes"),
        (json!({"grid_minutes": 480}), "grid_minutes"),
        (json!({"horizon_days": 0}), "horizon_days"),
        (json!({"horizon_days": 367}), "horizon_days"),
        (
            json!({"horizon_days": 1, "notice_minutes": 1440}),
            "notice_minutes",
        ),
        (json!({"hours": {}}), "hours: they name no hours"),
        (
            json!({"hours": {"tue": ["09:00-18:00"], "closed_message": "Fechado"}}),
            "hours: `closed_message`",
        ),
    ] {
        let told = refusal(more).unwrap_err();
        assert!(told.starts_with(expected), "{told}");
    }
    let rules = rules(
        &json!({"tue": ["09:00-18:00"]}),
        &json!({"buffer_after_minutes": 15}),
    );
    assert_eq!(rules.check_duration(30), Ok(SignedDuration::from_mins(30)));
    assert_eq!(rules.check_duration(570), Ok(SignedDuration::from_mins(570)));
    assert_eq!(rules.check_duration(571), Err(BookingRulesError::Duration));
    assert_eq!(rules.check_duration(4), Err(BookingRulesError::Duration));
    let written = serde_json::to_value(&rules).unwrap();
    assert_eq!(serde_json::from_value::<BookingRules>(written).unwrap(), rules);
}
