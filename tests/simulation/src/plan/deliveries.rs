//! The senders of e-mails and the rules for deliveries that tenants have from the start of a history on.

use super::{Plan, hours};
use crate::executor::{START_MS, Simulation};
use crate::simulator::email_sender;
use recado_domain::delivery_rules::DeliveryRules;
use serde_json::json;

/// The minutes by which the clocks of tenants differ from UTC.
const ZONE_MINUTES: i64 = -180;

/// A minute of the tenants' day, `HH:MM`, so many minutes after the start.
fn minute_after_start(minutes: i64) -> String {
    let minute = hours::minute_of(START_MS) + ZONE_MINUTES + minutes;
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

/// Quiet hours between two minutes after the start.
pub(crate) fn quiet_rules(from: i64, to: i64) -> DeliveryRules {
    let written = json!({"quiet_hours": {"from": minute_after_start(from), "to": minute_after_start(to)}});
    serde_json::from_value(written).expect("quiet hours")
}

/// So many invitations to one guest within an hour.
pub(crate) fn capped_rules(messages: u32) -> DeliveryRules {
    let written = json!({"frequency_cap": {"messages": messages, "hours": 1}});
    serde_json::from_value(written).expect("a cap")
}

impl Plan {
    /// The contacts, and others, are guests whom clients invite, also by e-mail. Some tenants have quiet hours or a cap.
    pub fn invite_guests(&mut self, simulation: &Simulation) {
        self.has_guests = true;
        let knows_again = simulation.chance(0.6);
        let rules = match simulation.below(4) {
            0 => {
                let from = simulation.between(1, 6);
                quiet_rules(from, from + simulation.between(2, 20))
            }
            1 => capped_rules(simulation.pick(&[1, 2])),
            _ => DeliveryRules::default(),
        };
        for line in &mut self.lines {
            line.bound.tenant.email_senders = vec![email_sender(&line.bound, knows_again)];
            line.bound.tenant.deliveries = rules.clone();
        }
    }
}
