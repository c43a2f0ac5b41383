use super::*;
use recado_domain::instance::ConnectionStatus;
use recado_domain::millis::from_unix_millis;
use recado_domain::sample::{InstanceSample, LISTED_MAX};

fn minute(number: i64) -> Timestamp {
    from_unix_millis(number * 60_000)
}

fn id(name: &str) -> InstanceId {
    InstanceId::parse(name).unwrap()
}

fn instance(name: &str, depth: u64, dead_letters: u64) -> InstanceSample {
    InstanceSample {
        id: id(name),
        connection: ConnectionStatus::Open,
        depth,
        parked: depth / 2,
        dead_letters,
        slots: None,
    }
}

fn closed(name: &str) -> InstanceSample {
    InstanceSample {
        connection: ConnectionStatus::Unreachable,
        ..instance(name, 0, 0)
    }
}

fn sample(number: i64, instances: Vec<InstanceSample>) -> MinuteSample {
    MinuteSample::from_instances(minute(number), None, instances)
}

/// The period of minutes 0 to 119, in two parts.
fn period() -> TrendPeriod {
    TrendPeriod::ending_at(from_unix_millis(119 * 60_000 + 31_000), 2, 60)
}

#[test]
fn a_period_ends_with_the_current_minute_and_has_whole_parts() {
    assert_eq!((period().from, period().parts), (minute(0), 2));
    let uneven = TrendPeriod::ending_at(minute(119), 2, 50);
    assert_eq!((uneven.from, uneven.parts), (minute(-30), 3));
    assert_eq!(TrendPeriod::ending_at(minute(119), 1, 1).parts, 60);
}

#[test]
fn what_waits_and_what_was_given_up_is_told_of_the_whole_and_of_each_part() {
    let minutes = SampledMinutes::of_installation(vec![
        sample(0, vec![instance("a", 4, 1)]),
        sample(1, vec![instance("a", 0, 3)]),
        sample(60, vec![instance("a", 1, 2)]),
        sample(61, vec![instance("a", 0, 5), closed("b")]),
    ]);
    let trends = minutes.make_trends(period(), None, []);
    let [first, second] = &trends.points[..] else {
        panic!("{trends:?}")
    };
    assert_eq!((first.from, second.from), (minute(0), minute(60)));
    let told = |of: &TrendSummary| (of.minutes, of.depth_max, of.parked_max, of.disconnected_max);
    assert_eq!(told(&first.summary), (2, 4, 2, 0));
    assert_eq!(told(&second.summary), (2, 1, 0, 1));
    assert_eq!(told(&trends.whole), (4, 4, 2, 1));
    let dead = |of: &TrendSummary| (of.dead_letters, of.dead_letters_added);
    // One was deleted between minutes 1 and 60: that takes nothing from those that are new.
    assert_eq!(dead(&first.summary), (3, 2));
    assert_eq!(dead(&second.summary), (5, 3));
    assert_eq!(dead(&trends.whole), (5, 5));
    assert_eq!(trends.whole.average_depth(), Some(1.2));
    assert_eq!(trends.whole.dead_letters_per_hour(), Some(75.0));
}

#[test]
fn a_sample_before_the_period_is_only_what_the_next_is_compared_with() {
    let minutes = SampledMinutes::of_installation(vec![
        sample(-1, vec![instance("a", 900, 7), closed("b")]),
        sample(5, vec![instance("a", 0, 9)]),
    ]);
    let b = id("b");
    let Trends { whole, uptimes, .. } = minutes.make_trends(period(), None, [&b]);
    assert_eq!(
        (whole.minutes, whole.depth_max, whole.dead_letters_added),
        (1, 0, 2)
    );
    assert_eq!((uptimes[0].minutes, uptimes[0].connected), (1, 1));
}

#[test]
fn without_samples_nothing_is_told() {
    let (none, a) = (SampledMinutes::of_installation(Vec::new()), id("a"));
    let trends = none.make_trends(period(), None, [&a]);
    assert_eq!(trends.whole, TrendSummary::default());
    assert_eq!(
        (trends.whole.average_depth(), trends.uptimes[0].percent()),
        (None, None)
    );
}

#[test]
fn a_tenants_minute_without_a_sample_is_idle_if_the_installation_was_sampled_and_left_nobody_out() {
    let crowded = MinuteSample {
        tenants_left_out: 1,
        ..sample(3, vec![])
    };
    let installation = [sample(1, vec![]), sample(2, vec![]), crowded];
    let own = vec![sample(2, vec![instance("a", 6, 0), closed("b")])];
    let minutes = SampledMinutes::of_tenant(&installation, own);
    let (a, b) = (id("a"), id("b"));
    let trends = minutes.make_trends(period(), None, [&a, &b]);
    assert_eq!(
        (trends.whole.minutes, trends.whole.average_depth()),
        (2, Some(3.0))
    );
    let uptime = |id, connected| InstanceUptime {
        id,
        minutes: 2,
        connected,
    };
    assert_eq!(trends.uptimes, [uptime(a, 2), uptime(b, 1)]);
    assert_eq!(trends.uptimes[1].percent(), Some(50.0));
}

#[test]
fn an_instance_that_is_not_listed_counts_where_the_list_is_complete_or_ends_with_connected_ones() {
    let (a, z) = (id("a"), id("zz"));
    let many = |one: fn(&str) -> InstanceSample| (0..=LISTED_MAX).map(move |n| one(&format!("n-{n:02}")));
    let waiting = |name: &str| instance(name, 1, 0);
    let minutes = SampledMinutes::of_installation(vec![
        sample(0, vec![instance("a", 2, 0)]),
        // All that are left out are open, but how much waits at them is not known.
        sample(1, many(waiting).collect()),
        // It may be one of those that are closed.
        sample(2, many(closed).collect()),
        sample(3, vec![closed("zz")]),
    ]);
    let trends = minutes.make_trends(period(), Some(&z), [&a, &z]);
    assert_eq!((trends.whole.minutes, trends.whole.disconnected_max), (2, 1));
    let counts: Vec<_> = trends
        .uptimes
        .iter()
        .map(|one| (one.minutes, one.connected))
        .collect();
    assert_eq!(counts, [(3, 3), (3, 2)]);
}

#[test]
fn nearly_all_is_not_shown_as_all() {
    let nearly = InstanceUptime {
        id: id("a"),
        minutes: 100_000,
        connected: 99_999,
    };
    assert_eq!(nearly.percent(), Some(99.99));
}
