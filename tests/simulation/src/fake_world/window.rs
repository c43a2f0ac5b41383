//! Meta's 24 hours, as the provider judges them: by its own clock, which is not ours.

use super::FakeWorld;
use crate::fake_world::{Line, traits};
use crate::person::phone;
use recado_domain::config::InstanceConfig;
use recado_domain::event::EventKind;
use recado_domain::ids::{InstanceId, MessageId};
use recado_domain::inbound::WebhookEvent;
use recado_domain::millis::{add_millis, from_unix_millis, to_millis};
use recado_domain::service_window::{WINDOW, bypasses_window};
use recado_pipeline::ports::OutgoingMessage;

/// How long a request may take on its way, in milliseconds: the provider judges as late as that.
const ON_ITS_WAY_MS: i64 = 20_000;

impl FakeWorld {
    /// What a webhook that is posted in `after_ms` says of the time is said by the provider's clock; and the provider
    /// remembers when the contact wrote.
    pub fn by_the_providers_clock(&self, event: &mut WebhookEvent, after_ms: i64) {
        let Ok(instance) = InstanceId::parse(event.external.as_str()) else {
            return;
        };
        if event.kind != EventKind::Message {
            return;
        }
        let posted = add_millis(self.simulation.now(), after_ms);
        self.line(&instance, |line| {
            let told = event.payload["sent_at"].as_i64();
            let wrote = add_millis(told.map_or(posted, from_unix_millis), line.clock_ms);
            if told.is_some() {
                event.payload["sent_at"] = wrote.as_millisecond().into();
            }
            if let Some(address) = &event.address
                && event.payload["from_me"] != true
                && !event.payload["target"].is_string()
            {
                line.wrote.entry(phone(address)).or_default().push(wrote);
            }
        });
    }

    /// Whether the provider refuses the message because the contact's window is over; if so, it is noted.
    pub(super) fn refuses(&self, bound: &InstanceConfig, message: &OutgoingMessage) -> bool {
        let now = self.simulation.now();
        let judge = |line: &mut Line| {
            let now = add_millis(now, line.clock_ms);
            let wrote = line.wrote.get(&phone(&message.to)).into_iter().flatten();
            let last = wrote.filter(|at| **at <= now).max();
            let open =
                last.is_some_and(|at| add_millis(now, ON_ITS_WAY_MS) < add_millis(*at, to_millis(WINDOW)));
            let refuses =
                traits(line.provider).has_service_window && !bypasses_window(&message.content) && !open;
            if refuses {
                line.refused.push(message.id.clone());
            }
            refuses
        };
        self.line(&bound.instance.id, judge).unwrap_or(false)
    }

    /// What was refused because the contact's window was over.
    pub fn refused(&self) -> Vec<MessageId> {
        let state = self.state();
        state
            .lines
            .values()
            .flat_map(|line| line.refused.clone())
            .collect()
    }
}
