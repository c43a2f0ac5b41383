use super::*;
use jiff::SignedDuration;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

fn rules(of: &serde_json::Value) -> DeliveryRules {
    serde_json::from_value(of.clone()).unwrap()
}

fn quiet(from: &str, to: &str) -> DeliveryRules {
    rules(&json!({"quiet_hours": {"from": from, "to": to}}))
}

#[test]
fn nothing_leaves_in_quiet_hours_of_the_recipients_zone() {
    let night = quiet("21:00", "08:00");
    let paulo = zone("America/Sao_Paulo");
    for (now, leaves) in [
        ("2026-03-10T20:59:59-03:00", None),
        ("2026-03-10T21:00:00-03:00", Some("2026-03-11T08:00:00-03:00")),
        ("2026-03-10T23:59:59-03:00", Some("2026-03-11T08:00:00-03:00")),
        ("2026-03-11T00:00:00-03:00", Some("2026-03-11T08:00:00-03:00")),
        ("2026-03-11T07:59:59-03:00", Some("2026-03-11T08:00:00-03:00")),
        ("2026-03-11T08:00:00-03:00", None),
    ] {
        let expected = leaves.map_or(DeliveryTime::Now, |time| DeliveryTime::NotBefore(at(time)));
        assert_eq!(night.find_delivery_time(&[], at(now), &paulo), expected, "{now}");
    }
    // The same moment is day in Lisbon.
    let lisbon = night.find_delivery_time(&[], at("2026-03-11T07:00:00-03:00"), &zone("Europe/Lisbon"));
    assert_eq!(lisbon, DeliveryTime::Now);
    let siesta = quiet("13:00", "15:30");
    let told = siesta.find_delivery_time(&[], at("2026-03-10T13:00:00-03:00"), &paulo);
    assert_eq!(told, DeliveryTime::NotBefore(at("2026-03-10T15:30:00-03:00")));
    assert_eq!(
        siesta.find_delivery_time(&[], at("2026-03-10T23:00:00-03:00"), &paulo),
        DeliveryTime::Now
    );
}

#[test]
fn where_the_clocks_change_the_end_is_the_first_time_after_it() {
    // In New York, 02:00 to 03:00 of 2026-03-08 is skipped, and 01:00 to 02:00 of 2026-11-01 comes twice.
    let new_york = zone("America/New_York");
    let told = quiet("22:00", "02:30").find_delivery_time(&[], at("2026-03-08T01:00:00-05:00"), &new_york);
    assert_eq!(told, DeliveryTime::NotBefore(at("2026-03-08T03:30:00-04:00")));
    let told = quiet("22:00", "01:30").find_delivery_time(&[], at("2026-11-01T00:30:00-04:00"), &new_york);
    assert_eq!(told, DeliveryTime::NotBefore(at("2026-11-01T01:30:00-04:00")));
    // At the first 01:30 the hours were over. They come again with the hour, and end again.
    let told = quiet("22:00", "01:30").find_delivery_time(&[], at("2026-11-01T01:10:00-05:00"), &new_york);
    assert_eq!(told, DeliveryTime::NotBefore(at("2026-11-01T01:30:00-05:00")));
}

/// Changes of clocks, some of them at midnight.
const CHANGES: [(&str, &str); 8] = [
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("America/Santiago", "2026-04-05T03:00:00Z"),
    ("America/Santiago", "2026-09-06T04:00:00Z"),
    ("Africa/Cairo", "2026-04-23T22:00:00Z"),
    ("Africa/Cairo", "2026-10-29T21:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
];

#[test]
fn each_of_these_changes_is_one() {
    for (name, change) in CHANGES {
        let offset = |seconds: i64| {
            let time = at(change) + SignedDuration::from_secs(seconds);
            time.to_zoned(zone(name)).offset()
        };
        assert_ne!(offset(-1), offset(0), "{name} {change}");
    }
}

proptest! {
    #[test]
    fn around_changes_of_clocks_nothing_leaves_in_quiet_hours_nor_waits_an_hour_longer(
        change in 0_usize..CHANGES.len(), from in 0_i32..96, to in 0_i32..96, minutes in -1_500_i64..1_500,
    ) {
        // A change of clocks may skip a shorter time without quiet as a whole.
        prop_assume!(from != to && (from - to).rem_euclid(96) > 4);
        let time = |quarters: i32| jiff::civil::Time::midnight().saturating_add(jiff::Span::new().minutes(quarters * 15));
        let hours = QuietHours { from: time(from), to: time(to) };
        let (name, changed) = CHANGES[change];
        let (zone, asked) = (zone(name), at(changed) + SignedDuration::from_mins(minutes));
        let rules = DeliveryRules { quiet_hours: Some(hours), frequency_cap: None };
        let end = match rules.find_delivery_time(&[], asked, &zone) {
            DeliveryTime::Now => asked,
            DeliveryTime::NotBefore(end) => end,
        };
        prop_assert!(!hours.is_quiet_at(end, &zone), "{} of {:?}", end, hours);
        let minutes_until_end = end.duration_since(asked).as_mins();
        let loud = (0..minutes_until_end).filter(|minute| !hours.is_quiet_at(asked + SignedDuration::from_mins(*minute), &zone));
        prop_assert!(loud.count() <= 60, "it waits from {} until {}", asked, end);
    }
}

#[test]
fn a_recipient_gets_as_many_as_the_cap_says() {
    let capped = rules(&json!({"frequency_cap": {"messages": 2, "hours": 24}}));
    let told = |earlier: &[&str], now: &str| {
        let earlier: Vec<Timestamp> = earlier.iter().map(|text| at(text)).collect();
        capped.find_delivery_time(&earlier, at(now), &TimeZone::UTC)
    };
    assert_eq!(told(&[], "2026-03-10T12:00:00Z"), DeliveryTime::Now);
    assert_eq!(
        told(&["2026-03-10T11:00:00Z"], "2026-03-10T12:00:00Z"),
        DeliveryTime::Now
    );
    let two = ["2026-03-10T11:00:00Z", "2026-03-09T13:00:00Z"];
    assert_eq!(
        told(&two, "2026-03-10T12:00:00Z"),
        DeliveryTime::NotBefore(at("2026-03-10T13:00:00Z"))
    );
    assert_eq!(told(&two, "2026-03-10T13:00:00Z"), DeliveryTime::Now);
    // More than the cap allows, as after it was lowered: the second newest must leave the window.
    let three = [
        "2026-03-10T11:00:00Z",
        "2026-03-10T10:00:00Z",
        "2026-03-10T09:00:00Z",
    ];
    assert_eq!(
        told(&three, "2026-03-10T12:00:00Z"),
        DeliveryTime::NotBefore(at("2026-03-11T10:00:00Z"))
    );
}

#[test]
fn what_leaves_the_cap_in_quiet_hours_waits_for_their_end() {
    let both = rules(
        &json!({"quiet_hours": {"from": "21:00", "to": "08:00"}, "frequency_cap": {"messages": 1, "hours": 12}}),
    );
    let told = both.find_delivery_time(
        &[at("2026-03-10T10:30:00Z")],
        at("2026-03-10T12:00:00Z"),
        &TimeZone::UTC,
    );
    assert_eq!(told, DeliveryTime::NotBefore(at("2026-03-11T08:00:00Z")));
}

proptest! {
    #[test]
    fn a_recipient_who_is_written_to_when_the_rules_say_gets_never_more(
        messages in 1_u32..5, hours in 1_u32..50, from in 0_i8..24, to in 0_i8..24, asked in prop::collection::vec(0_i64..400, 1..40),
    ) {
        prop_assume!(from != to);
        let capped = FrequencyCap { messages, hours };
        let quiet_hours = QuietHours { from: jiff::civil::time(from, 0, 0, 0), to: jiff::civil::time(to, 0, 0, 0) };
        let both = DeliveryRules { quiet_hours: Some(quiet_hours), frequency_cap: Some(capped) };
        let mut asked = asked;
        asked.sort_unstable();
        let mut sent: Vec<Timestamp> = Vec::new();
        for hour in asked {
            let mut now = at("2026-01-01T00:00:00Z") + SignedDuration::from_hours(hour);
            now = now.max(sent.last().copied().unwrap_or(now));
            let zone = TimeZone::UTC;
            if let DeliveryTime::NotBefore(later) = both.find_delivery_time(&sent, now, &zone) {
                prop_assert!(later > now);
                now = later;
                prop_assert_eq!(both.find_delivery_time(&sent, now, &zone), DeliveryTime::Now, "one look is enough");
            }
            sent.push(now);
        }
        for (place, at) in sent.iter().enumerate() {
            let within = sent[..=place].iter().filter(|other| **other > *at - capped.counting_window()).count();
            prop_assert!(within <= usize::try_from(messages).unwrap());
            prop_assert!(!quiet_hours.is_quiet_at(*at, &TimeZone::UTC));
        }
    }
}

#[test]
fn rules_that_nobody_can_mean_are_refused() {
    assert_eq!(DeliveryRules::default().check_delivery_rules(), Ok(()));
    assert_eq!(quiet("21:00", "08:00").check_delivery_rules(), Ok(()));
    assert_eq!(
        quiet("08:00", "08:00").check_delivery_rules(),
        Err(DeliveryRulesError::QuietHours)
    );
    for (messages, hours) in [(0, 1), (101, 1), (1, 0), (1, 721)] {
        let capped = rules(&json!({"frequency_cap": {"messages": messages, "hours": hours}}));
        assert_eq!(
            capped.check_delivery_rules(),
            Err(DeliveryRulesError::FrequencyCap)
        );
    }
    for bad in ["24:00", "8:00", "08:00:00", "noon"] {
        let parsed =
            serde_json::from_value::<DeliveryRules>(json!({"quiet_hours": {"from": bad, "to": "09:00"}}));
        assert!(parsed.is_err(), "{bad}");
    }
    let written = serde_json::to_value(quiet("21:05", "08:00")).unwrap();
    assert_eq!(written, json!({"quiet_hours": {"from": "21:05", "to": "08:00"}}));
}
