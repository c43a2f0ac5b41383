//! One row of each kind becomes unreadable on a busy day: everybody else is answered in the usual time, and somebody is told.
//! `RECADO_KIND` names the one kind that is played.

use metrics_exporter_prometheus::PrometheusBuilder;
use recado_simulation::embedded::machine_faults::damage::{Concerns, Damaged, Day, KINDS, play};
use recado_simulation::embedded::machine_faults::{Damage, Missing, list_kinds};
use recado_simulation::embedded::store;
use recado_simulation::executor::Simulation;

/// The kinds of which a day has no row, and those that are the installation itself.
const NOT_PLAYED: &[(&str, &str)] = &[
    (
        "installation",
        "one row each: without the identity key nobody is known",
    ),
    ("intake", "the log of a folder; a store in memory has none"),
    ("parked", "no instance is closed"),
];

/// Days of each kind and way of damage.
const DAYS: u64 = 2;

/// Plays a day, and counts the records that were found to be unreadable.
fn play_counted(seed: u64, damaged: Damaged) -> (Day, bool) {
    let recorder = PrometheusBuilder::new().build_recorder();
    let counts = recorder.handle();
    let day = metrics::with_local_recorder(&recorder, || play(seed, damaged, false));
    let is_counted = counts.render().contains("recado_records_unreadable_total");
    (day, is_counted)
}

#[test]
fn every_kind_of_record_is_played_or_says_why_it_is_not() {
    let kinds = list_kinds(&store(&Simulation::new(1)));
    for kind in &kinds {
        let is_played = KINDS.iter().any(|(known, _)| known == kind);
        let has_reason = NOT_PLAYED.iter().any(|(known, _)| known == kind);
        assert!(is_played != has_reason, "{kind}");
    }
    for (kind, _) in KINDS {
        assert!(kinds.iter().any(|known| known == kind), "{kind} is no table");
    }
}

#[test]
fn a_row_that_cannot_be_read_keeps_nobody_else_waiting_and_somebody_is_told() {
    let named = std::env::var("RECADO_KIND").ok();
    let (mut damaged_rows, mut broken) = (0, Vec::new());
    for (kind, concerns) in KINDS {
        if named.as_ref().is_some_and(|name| name != kind) {
            continue;
        }
        let mut found = false;
        for seed in 0..DAYS {
            for damage in [Damage::CutOff, Damage::Replaced] {
                let damaged = Damaged {
                    kind,
                    concerns: *concerns,
                    damage,
                    missing: Missing::Nothing,
                };
                let (day, is_counted) = play_counted(seed, damaged);
                found |= day.row.is_some();
                damaged_rows += u64::from(day.row.is_some());
                let told = is_counted || day.letters > 0;
                if day.hurts && !told {
                    broken.push(format!(
                        "{kind}, {damage:?}, {seed}: nobody is told of {:?}",
                        day.row
                    ));
                }
                if let Some(first) = day.outcome.violations.first() {
                    broken.push(format!("{kind}, {damage:?}, {seed}: {first}"));
                }
            }
        }
        if !found {
            broken.push(format!("{kind}: no row was damaged"));
        }
    }
    println!("{damaged_rows} damaged rows");
    assert!(
        broken.is_empty(),
        "{}, such as {:#?}",
        broken.len(),
        &broken[..broken.len().min(12)]
    );
}

#[test]
fn a_list_that_fails_with_one_row_is_missed() {
    let damaged = Damaged {
        kind: "messages",
        concerns: Concerns::Named,
        damage: Damage::CutOff,
        missing: Missing::PassingOver,
    };
    let mut violations = (0..DAYS).flat_map(|seed| play(seed, damaged, false).outcome.violations);
    assert!(violations.any(|broken| broken.contains("reconcile ends with")));
}
