use super::span::format_minute;
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(written: Value) -> Result<OpeningHours, String> {
    serde_json::from_value(written).map_err(|error| error.to_string())
}

fn hours(days: &[(&str, &[&str])]) -> OpeningHours {
    let map: BTreeMap<&str, &[&str]> = days.iter().copied().collect();
    read(json!(map)).unwrap()
}

fn check(hours: &OpeningHours, zone: &str, now: &str, expected: &str) {
    let zone = TimeZone::get(zone).unwrap();
    let got = match hours.opening_state_at(now.parse().unwrap(), &zone) {
        OpeningState::Open => "open".to_owned(),
        OpeningState::NeverOpens => "never".to_owned(),
        OpeningState::OpensAt(at) => at.to_string(),
    };
    assert_eq!(got, expected, "at {now}");
}

#[test]
fn spans_that_overlap_and_hours_without_a_span_are_found() {
    let refused = |days: &[(&str, &[&str])]| hours(days).check_hours().unwrap_err().to_string();
    assert_eq!(
        refused(&[("mon", &["09:00-13:00", "12:59-18:00"])]),
        "mon 09:00-13:00 and mon 12:59-18:00 overlap"
    );
    assert_eq!(
        refused(&[("sat", &["22:00-02:00"]), ("sun", &["01:00-05:00"])]),
        "sat 22:00-02:00 and sun 01:00-05:00 overlap"
    );
    assert_eq!(
        refused(&[("sun", &["20:00-09:01"]), ("mon", &["09:00-18:00"])]),
        "sun 20:00-09:01 and mon 09:00-18:00 overlap"
    );
    assert_eq!(
        refused(&[("tue", &["09:00-18:00", "10:00-11:00"])]),
        "tue 09:00-18:00 and tue 10:00-11:00 overlap"
    );
    for none in [&[][..], &[("mon", &[][..])]] {
        assert!(refused(none).starts_with("they name no hours"));
    }
    let fine: [&[(&str, &[&str])]; 3] = [
        &[("mon", &["09:00-12:00", "12:00-18:00"]), ("tue", &[])],
        &[
            ("sun", &["22:00-09:00"]),
            ("mon", &["09:00-24:00"]),
            ("tue", &["00:00-01:00"]),
        ],
        &[("wed", &["00:00-24:00"])],
    ];
    for days in fine {
        hours(days).check_hours().unwrap();
    }
    let twice = read(json!({"mon": [], "Mon": []})).unwrap_err();
    assert_eq!(twice, "`mon` is named twice");
}

#[test]
fn a_weekday_span_is_read_in_the_tenants_zone() {
    let office = hours(&[
        ("mon", &["09:00-12:00", "13:00-18:00"]),
        ("fri", &["09:00-18:00"]),
    ]);
    let zone = "America/Sao_Paulo"; // UTC-3
    check(&office, zone, "2026-11-23T11:59:59Z", "2026-11-23T12:00:00Z");
    check(&office, zone, "2026-11-23T12:00:00Z", "open");
    check(&office, zone, "2026-11-23T15:30:00Z", "2026-11-23T16:00:00Z");
    check(&office, zone, "2026-11-23T21:00:00Z", "2026-11-27T12:00:00Z");
    check(&office, zone, "2026-11-27T21:00:00Z", "2026-11-30T12:00:00Z");
}

#[test]
fn a_span_past_midnight_belongs_to_the_day_it_begins() {
    let bar = hours(&[("sat", &["22:00-02:00"])]);
    check(&bar, "UTC", "2026-11-21T23:00:00Z", "open");
    check(&bar, "UTC", "2026-11-22T01:59:00Z", "open");
    check(&bar, "UTC", "2026-11-22T02:00:00Z", "2026-11-28T22:00:00Z");
}

#[test]
fn a_skipped_opening_time_opens_after_the_gap() {
    // Clocks go from 02:00 to 03:00 on 2026-03-29 in Berlin.
    let early = hours(&[("sun", &["02:30-10:00"])]);
    check(
        &early,
        "Europe/Berlin",
        "2026-03-29T00:30:00Z",
        "2026-03-29T01:30:00Z",
    );
    check(&early, "Europe/Berlin", "2026-03-29T07:59:00Z", "open");
}

#[test]
fn no_span_is_never_open_and_a_full_day_always() {
    check(&hours(&[]), "UTC", "2026-11-21T00:00:00Z", "never");
    check(
        &hours(&[("sat", &["00:00-24:00"])]),
        "UTC",
        "2026-11-21T23:59:59Z",
        "open",
    );
}

#[test]
fn nonsense_is_refused() {
    for bad in [
        "9-18",
        "09:00",
        "09:60-10:00",
        "25:00-26:00",
        "09:00-09:00",
        "24:00-25:00",
        "-",
        "a:b-c:d",
    ] {
        let told = read(json!({"mon": [bad]})).unwrap_err();
        assert!(told.contains("is not a span"), "{bad}: {told}");
    }
    assert!(
        read(json!({"lunes": []}))
            .unwrap_err()
            .starts_with("`lunes` is not a weekday")
    );
    assert!(
        read(json!({"mon": "09:00-18:00"}))
            .unwrap_err()
            .starts_with("`mon` must be a list")
    );
}

/// Weekdays from 9 to 18, and Christmas: the 24th until noon, the 25th closed, the company's holidays until January 3rd.
fn christmas() -> OpeningHours {
    let day = ["09:00-18:00"];
    read(json!({
        "mon": day, "tue": day, "wed": day, "thu": day, "fri": day,
        "exceptions": [
            {"date": "2026-12-24", "hours": ["09:00-12:00"]},
            {"from": "2026-12-28", "to": "2027-01-03", "closed": true},
            {"date": "2026-12-25", "closed": true},
            {"date": "2026-12-26", "hours": ["10:00-11:00", "22:00-01:00"]},
        ],
    }))
    .unwrap()
}

#[test]
fn on_the_dates_of_an_exception_its_hours_count() {
    let hours = christmas();
    hours.check_hours().unwrap();
    for (now, expected) in [
        ("2026-12-23T17:59:59Z", "open"),
        ("2026-12-24T11:59:59Z", "open"),
        // Christmas Day is a Friday; on Saturday the 26th it is open twice.
        ("2026-12-24T12:00:00Z", "2026-12-26T10:00:00Z"),
        ("2026-12-25T10:00:00Z", "2026-12-26T10:00:00Z"),
        ("2026-12-26T10:30:00Z", "open"),
        ("2026-12-26T11:00:00Z", "2026-12-26T22:00:00Z"),
        ("2026-12-27T00:59:00Z", "open"),
        ("2026-12-27T01:00:00Z", "2027-01-04T09:00:00Z"),
        ("2026-12-31T10:00:00Z", "2027-01-04T09:00:00Z"),
        ("2027-01-04T09:00:00Z", "open"),
    ] {
        check(&hours, "UTC", now, expected);
    }
}

#[test]
fn a_closed_date_ends_nothing_that_began_the_day_before() {
    let bar = read(json!({
        "thu": ["22:00-02:00"], "fri": ["22:00-02:00"],
        "exceptions": [{"date": "2026-12-25", "closed": true}],
    }))
    .unwrap();
    check(&bar, "UTC", "2026-12-25T01:59:00Z", "open");
    check(&bar, "UTC", "2026-12-25T02:00:00Z", "2026-12-31T22:00:00Z");
    check(&bar, "UTC", "2026-12-26T01:00:00Z", "2026-12-31T22:00:00Z");
}

#[test]
fn hours_of_exceptional_days_alone_are_found_however_far_away() {
    let fair = read(json!({"exceptions": [
        {"date": "2031-03-02", "hours": ["10:00-12:00"]},
        {"from": "2027-05-01", "to": "2027-05-02", "hours": ["10:00-12:00"]},
    ]}))
    .unwrap();
    fair.check_hours().unwrap();
    check(&fair, "UTC", "2026-01-01T00:00:00Z", "2027-05-01T10:00:00Z");
    check(&fair, "UTC", "2027-05-01T12:00:00Z", "2027-05-02T10:00:00Z");
    check(&fair, "UTC", "2027-05-02T12:00:00Z", "2031-03-02T10:00:00Z");
    check(&fair, "UTC", "2031-03-02T12:00:00Z", "never");
    let last = read(json!({"exceptions": [{"date": "9999-12-31", "closed": true}]})).unwrap();
    check(&last, "UTC", "9999-12-29T00:00:00Z", "never");
}

/// Each row: exceptions, and what is said of them.
#[test]
fn exceptions_that_cannot_be_meant_are_refused() {
    for (exceptions, expected) in [
        (
            json!([{"closed": true}]),
            "exception 1: it needs either `date`, or `from` and `to`",
        ),
        (
            json!([{"from": "2026-12-25", "closed": true}]),
            "exception 1: it needs either `date`, or",
        ),
        (
            json!([{"date": "2026-12-25", "closed": true}, {"date": "25/12/2026", "closed": true}]),
            "exception 2: a date is written as 2026-12-25",
        ),
        (
            json!([{"date": "2026-02-30", "closed": true}]),
            "exception 1: a date is written as",
        ),
        (
            json!([{"date": "2026-12-25"}]),
            "exception 1: it needs either `closed = true` or `hours`",
        ),
        (
            json!([{"date": "2026-12-25", "closed": true, "hours": ["09:00-10:00"]}]),
            "exception 1: it needs either `closed = true` or `hours`",
        ),
        (
            json!([{"from": "2026-12-25", "to": "2026-12-24", "closed": true}]),
            "exception 1: `to` lies before `from`",
        ),
        (
            json!([{"from": "2026-01-01", "to": "2027-01-02", "closed": true}]),
            "exception 1: it is about more than 366 days",
        ),
        (
            json!([{"date": "2026-12-25", "hours": ["09:00-11:00", "10:00-12:00"]}]),
            "exception 1: its hours overlap",
        ),
        (
            json!([{"date": "2026-12-25", "hours": ["9-11"]}]),
            "`9-11` is not a span",
        ),
        (
            json!([{"date": "2026-12-25", "closde": true}]),
            "unknown field `closde`",
        ),
    ] {
        let told = read(json!({"mon": ["09:00-18:00"], "exceptions": exceptions})).unwrap_err();
        assert!(told.starts_with(expected), "{told}");
    }
    let twice = json!([
        {"from": "2026-12-20", "to": "2026-12-25", "closed": true}, {"date": "2026-12-25", "closed": true},
    ]);
    let twice = read(json!({"mon": ["09:00-18:00"], "exceptions": twice})).unwrap();
    let told = twice.check_hours().unwrap_err().to_string();
    assert_eq!(told, "the exceptions of 2026-12-20 and of 2026-12-25 overlap");
}

#[test]
fn what_else_stands_with_the_hours_is_checked() {
    for (field, value, expected) in [
        (
            "time_zone",
            json!("Mars/Olympus"),
            "`Mars/Olympus` is not an IANA time zone",
        ),
        (
            "replies_per_minute",
            json!(0),
            "replies_per_minute must be between 1 and 600",
        ),
        (
            "replies_per_minute",
            json!(601),
            "replies_per_minute must be between 1 and 600",
        ),
        (
            "closed_message",
            json!("  "),
            "closed_message must have 1 to 1000 characters",
        ),
    ] {
        let hours = read(json!({"mon": ["09:00-18:00"], field: value})).unwrap();
        let told = hours.check_hours().unwrap_err().to_string();
        assert!(told.starts_with(expected), "{told}");
    }
    let fine = json!({
        "mon": ["09:00-18:00"], "time_zone": "America/Manaus", "closed_message": "Voltamos às 9h.",
        "replies_per_minute": 30,
    });
    let hours = read(fine.clone()).unwrap();
    hours.check_hours().unwrap();
    assert_eq!(hours.reply_interval(), SignedDuration::from_secs(2));
    assert_eq!(
        hours.resolve_time_zone(TimeZone::UTC),
        TimeZone::get("America/Manaus").unwrap()
    );
    assert_eq!(serde_json::to_value(&hours).unwrap(), fine);
}

#[test]
fn hours_are_written_as_they_are_read() {
    let written = serde_json::to_value(christmas()).unwrap();
    assert_eq!(read(written).unwrap(), christmas());
}

#[test]
fn a_span_of_which_a_change_of_clocks_leaves_nothing_is_no_opening() {
    // Clocks go from 02:00 to 03:00 on 2026-03-29 in Berlin: 02:30 is 03:30, and the span ends at 03:15.
    let gap = hours(&[("sun", &["02:30-03:15"])]);
    check(
        &gap,
        "Europe/Berlin",
        "2026-03-29T00:00:00Z",
        "2026-04-05T00:30:00Z",
    );
    check(
        &gap,
        "Europe/Berlin",
        "2026-03-29T01:20:00Z",
        "2026-04-05T00:30:00Z",
    );
}

#[test]
fn a_time_that_occurs_twice_opens_and_closes_at_its_first_occurrence() {
    // Clocks go back from 03:00 to 02:00 on 2026-10-25 in Berlin, at 01:00 UTC.
    let twice = hours(&[("sun", &["02:30-02:45", "04:00-05:00"])]);
    check(
        &twice,
        "Europe/Berlin",
        "2026-10-25T00:29:00Z",
        "2026-10-25T00:30:00Z",
    );
    check(&twice, "Europe/Berlin", "2026-10-25T00:40:00Z", "open");
    check(
        &twice,
        "Europe/Berlin",
        "2026-10-25T01:35:00Z",
        "2026-10-25T03:00:00Z",
    );
}

#[test]
fn a_closure_lasts_until_the_hours_were_open() {
    let office = hours(&[("mon", &["09:00-12:00"])]);
    let zone = TimeZone::UTC;
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let told = at("2026-11-22T20:00:00Z");
    assert!(!office.opened_between(told, at("2026-11-23T08:59:59Z"), &zone));
    assert!(office.opened_between(told, at("2026-11-23T09:00:00Z"), &zone));
    assert!(office.opened_between(told, at("2026-11-23T20:00:00Z"), &zone));
    assert!(!office.opened_between(at("2026-11-23T12:00:00Z"), at("2026-11-29T20:00:00Z"), &zone));
}

/// Zones with changes of clocks in both halves of the world, of half an hour, at midnight, and a skipped day (Apia).
const ZONES: [&str; 7] = [
    "America/New_York",
    "Europe/Lisbon",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Africa/Cairo",
    "Pacific/Apia",
    "America/Sao_Paulo",
];

fn span() -> impl Strategy<Value = String> {
    (0u16..1440, 1u16..1440).prop_map(|(from, length)| {
        let to = (from + length) % 1440;
        format!(
            "{}-{}",
            format_minute(from),
            format_minute(if to == from { from + 1 } else { to })
        )
    })
}

/// Hours with up to three spans on any weekday and up to four exceptions, which may overlap.
fn any_hours() -> impl Strategy<Value = OpeningHours> {
    let days = prop::collection::btree_map(0usize..7, prop::collection::vec(span(), 0..3), 0..4);
    let exceptions = prop::collection::vec((0i32..400, 0i32..20, prop::option::of(span())), 0..4);
    (days, exceptions).prop_map(|(days, exceptions)| {
        let first: Date = "2026-01-01".parse().unwrap();
        let date = |days: i32| first.checked_add(days.days()).unwrap().to_string();
        let exceptions: Vec<Value> = exceptions
            .into_iter()
            .map(|(from, length, span)| {
                let (from, to) = (date(from), date(from + length));
                match span {
                    Some(span) => json!({"from": from, "to": to, "hours": [span]}),
                    None => json!({"from": from, "to": to, "closed": true}),
                }
            })
            .collect();
        let mut written = json!({"exceptions": exceptions});
        for (day, spans) in days {
            written[DAYS[day]] = json!(spans);
        }
        read(written).unwrap()
    })
}

proptest! {
    #[test]
    fn the_next_opening_is_open_and_nothing_before_it_is(
        from in 0u16..1440, length in 1u16..1440, day in 0usize..7, now in 1_700_000_000i64..1_900_000_000,
    ) {
        let span = format!("{}-{}", format_minute(from), format_minute((from + length) % 1440));
        prop_assume!(from != (from + length) % 1440);
        let hours = hours(&[(DAYS[day], &[&span])]);
        let zone = TimeZone::get("America/New_York").unwrap();
        let now = Timestamp::from_second(now).unwrap();
        if let OpeningState::OpensAt(at) = hours.opening_state_at(now, &zone) {
            prop_assert!(at > now);
            prop_assert_eq!(hours.opening_state_at(at, &zone), OpeningState::Open);
            let half = Timestamp::from_second(i64::midpoint(now.as_second(), at.as_second() - 1)).unwrap();
            prop_assert_ne!(hours.opening_state_at(half, &zone), OpeningState::Open);
        }
    }

    #[test]
    fn any_hours_in_any_zone_open_when_they_say_and_not_before(
        hours in any_hours(), zone in 0usize..7, now in 1_767_225_600i64..1_803_000_000, parts in prop::collection::vec(0.0f64..1.0, 6),
    ) {
        let zone = TimeZone::get(ZONES[zone]).unwrap();
        let now = Timestamp::from_second(now).unwrap();
        if let OpeningState::OpensAt(at) = hours.opening_state_at(now, &zone) {
            prop_assert!(at > now);
            prop_assert_eq!(hours.opening_state_at(at, &zone), OpeningState::Open);
            let ahead = at.duration_since(now).as_secs_f64();
            for part in parts {
                let between = now.saturating_add(SignedDuration::from_secs_f64(ahead * part)).unwrap();
                if between < at {
                    prop_assert_eq!(hours.opening_state_at(between, &zone), OpeningState::OpensAt(at), "at {}", between);
                }
            }
            prop_assert!(!hours.opened_between(now, Timestamp::from_second(at.as_second() - 1).unwrap(), &zone));
            prop_assert!(hours.opened_between(now, at, &zone));
        }
    }

    #[test]
    fn any_hours_survive_being_written(hours in any_hours()) {
        let written = serde_json::to_value(&hours).unwrap();
        prop_assert_eq!(read(written).unwrap(), hours);
    }

    #[test]
    fn nothing_that_anybody_writes_breaks_it(day in "[a-z]{0,4}", text in ".{0,14}", date in "[0-9-]{0,11}") {
        let _ = read(json!({day: [text.clone()], "exceptions": [{"date": date, "hours": [text]}]}));
    }
}
