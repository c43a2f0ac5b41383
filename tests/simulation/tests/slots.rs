//! Many contacts wish one slot of a calendar at once, through whole turns.

use recado_simulation::embedded::tell;
use recado_simulation::scenario::{Story, Telling};
use recado_simulation::simulator::Style;

#[test]
fn of_fifty_contacts_who_wish_one_slot_at_once_one_has_it_and_all_are_answered() {
    for style in [Style::Lambda, Style::Machine] {
        for seed in 1..=5 {
            let telling = Telling {
                style,
                seed,
                ..Telling::of(Story::ActsCrowd)
            };
            let outcome = tell(&telling, false);
            assert!(
                outcome.violations.is_empty(),
                "{telling:?}: {:?}",
                outcome.violations
            );
            assert!(outcome.counters.model_calls >= 100, "each asks twice");
        }
    }
}
