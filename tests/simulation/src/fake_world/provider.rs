use super::{FakeWorld, SendBehaviour, failed_event, traits};
use crate::executor::Life;
use crate::fault_injector::FaultInjector;
use crate::mutation::Mutation;
use crate::observations::Mark;
use crate::person::phone;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::{ConfigError, Instance, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::InboundJob;
use recado_domain::ids::{ExternalId, MessageId};
use recado_domain::inbound::{InboundEvent, WebhookItem};
use recado_domain::millis::add_millis;
use recado_domain::provider::{Provider, ProviderCapabilities};
use recado_domain::reason::Reason;
use recado_pipeline::ports::{
    ConnectionAnswer, FetchedFile, FileError, FileRequest, HistoryError, HistoryPage, HistorySpan,
    OutgoingMessage, Providers, SendEvidence, SendOutcome,
};
use serde_json::Value;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long we wait for a provider, in milliseconds.
const TIMEOUT_MS: i64 = 20_000;

/// The longest text that it takes: short, so that long replies cost little.
pub(super) const TEXT_MAX: usize = 120;

/// The provider and the other services outside, as one running function reaches them.
#[derive(Debug, Clone)]
pub struct FakeServices {
    pub(super) fake_world: FakeWorld,
    pub(super) injector: FaultInjector,
}

impl FakeServices {
    /// See [`FakeServices`].
    pub fn new(fake_world: FakeWorld, injector: FaultInjector) -> Self {
        Self { fake_world, injector }
    }

    fn note_mark(&self, bound: &InstanceConfig, to: &ContactAddress, id: &str, typing: bool) {
        let mark = Mark {
            instance: bound.instance.id.clone(),
            id: id.to_owned(),
            to: to.clone(),
            typing,
        };
        self.injector.common.observations().marks.push(mark);
    }

    fn draw(&self, bound: &InstanceConfig, message: &MessageId) -> Option<SendBehaviour> {
        let simulation = &self.injector.common.simulation;
        let (steady, scripted, behaviours) = self.fake_world.line(&bound.instance.id, |line| {
            let steady = line.steady.get(message).copied();
            let scripted = steady.is_none().then(|| line.script.pop_front()).flatten();
            (steady, scripted, line.behaviours.clone())
        })?;
        if steady.is_some() {
            return steady;
        }
        let drawn = scripted.unwrap_or_else(|| {
            let at = simulation.below(u64::from(behaviours.total().max(1)));
            behaviours.at(u32::try_from(at).unwrap_or(0))
        });
        let by_chance = scripted.is_none()
            && behaviours.steady > 0
            && simulation.below(100) < u64::from(behaviours.steady);
        self.fake_world.line(&bound.instance.id, |line| {
            if by_chance || (scripted.is_some() && line.script_is_steady) {
                line.steady.insert(message.clone(), drawn);
            }
        });
        Some(drawn)
    }

    async fn accepted(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        behaviour: SendBehaviour,
    ) -> SendOutcome {
        let simulation = &self.injector.common.simulation;
        let Some(external) = bound.instance.resolve_external_id() else {
            return unknown("no name", false);
        };
        let id = self.take(bound, &external, message, self.injector.attempt());
        if behaviour == SendBehaviour::FailedLater {
            self.owe_failure(bound, &external, message, &id);
        }
        if behaviour == SendBehaviour::AcceptedUnheard {
            simulation.sleep(TIMEOUT_MS).await;
            return unknown("no answer in time", true);
        }
        // The answer may come after its own statuses.
        simulation
            .sleep(simulation.pick(&[10, 50, 300, 2_000, 12_000]))
            .await;
        self.injector.step("accepted").await;
        SendOutcome::Accepted {
            provider_message_id: Some(id),
            simulated: false,
            held: None,
        }
    }

    fn take(
        &self,
        bound: &InstanceConfig,
        external: &ExternalId,
        message: &OutgoingMessage,
        attempt: Option<usize>,
    ) -> String {
        let text = message.content.render_text().clone();
        self.injector
            .common
            .note(|| format!("the phone gets {}: {text}", message.id));
        let made = (&message.id, attempt);
        self.fake_world
            .accept(&bound.instance.id, external, &message.to, made, &text)
    }

    fn owe_failure(
        &self,
        bound: &InstanceConfig,
        external: &ExternalId,
        message: &OutgoingMessage,
        id: &str,
    ) {
        let provider = bound.instance.provider;
        let key = if traits(provider).echoes_our_id {
            DeliveryKey::from_own_id(provider, external, &message.id)
        } else {
            DeliveryKey::from_provider_id(provider, external, id)
        };
        let simulation = &self.injector.common.simulation;
        let update = StatusUpdate {
            key,
            status: DeliveryStatus::Failed,
            at: simulation.now(),
            provider_message_id: Some(id.to_owned()),
            detail: None,
        };
        let event = failed_event(provider, external, &update, &message.to);
        let after_ms = simulation.between(0, 30_000);
        let mut state = self.fake_world.state();
        state.failures.push((event.id.clone(), message.id.clone()));
        // What failed neither arrives nor is read, and is told once.
        state.owed.retain(|owed| {
            let status = owed.item.as_delivery_status();
            !status.is_some_and(|status| status.key == update.key && status.status > DeliveryStatus::Sent)
        });
        if let Some(phone) = state
            .phones
            .get_mut(&(bound.instance.id.clone(), phone(&message.to)))
        {
            // This copy: another attempt's may have arrived before.
            let newest = phone.iter().rposition(|arrived| arrived.message == message.id);
            newest.map(|position| phone.remove(position));
        }
        state.owed.push(super::Owed {
            item: WebhookItem::Event(event),
            after_ms,
        });
    }

    fn note_request(&self, bound: &InstanceConfig) {
        self.injector.frozen.store(i64::MIN, Ordering::Relaxed);
        let at = self.injector.common.simulation.elapsed_ms();
        self.fake_world
            .line(&bound.instance.id, |line| line.requests.push(at));
    }

    async fn request(&self, bound: &InstanceConfig, message: &OutgoingMessage) -> SendOutcome {
        let simulation = &self.injector.common.simulation;
        self.note_request(bound);
        self.injector
            .common
            .note(|| format!("{} requests {}", self.injector.function, message.id));
        if !self.fake_world.is_reachable(&bound.instance.id) {
            self.injector.step("no connection").await;
            return unreached();
        }
        // Dead or slow from here on, the request has left.
        let state = self
            .fake_world
            .line(&bound.instance.id, |line| (line.connected, line.key_is_good));
        let behaviour = self.draw(bound, &message.id);
        let gone = |connected: bool| !connected && bound.instance.provider == Provider::Evolution;
        let reaches = state.is_some_and(|(connected, key_is_good)| key_is_good && !gone(connected));
        if reaches && behaviour != Some(SendBehaviour::Closed) {
            // What finds WhatsApp gone, or no key, is no attempt.
            self.fake_world.count_send(&message.id);
            self.check_echo(&message.id);
            if self.fake_world.refuses(bound, message) {
                self.injector.step("refused").await;
                return SendOutcome::Permanent {
                    reason: Reason::WindowClosed,
                    why: "131047".to_owned(),
                };
            }
        }
        match (state, behaviour) {
            (Some((_, false)), _) => {
                self.injector.step("refused").await;
                SendOutcome::Credentials {
                    why: "401".to_owned(),
                }
            }
            (Some((false, _)), _) if bound.instance.provider == Provider::Evolution => {
                self.injector.step("refused").await;
                disconnected()
            }
            (
                Some(_),
                Some(
                    behaviour @ (SendBehaviour::Accepted
                    | SendBehaviour::AcceptedUnheard
                    | SendBehaviour::FailedLater),
                ),
            ) => self.accepted(bound, message, behaviour).await,
            (Some(_), Some(SendBehaviour::Closed)) => {
                simulation.sleep(8_000).await;
                self.injector.step("refused").await;
                disconnected()
            }
            (
                Some(_),
                Some(behaviour @ (SendBehaviour::LostUnheard | SendBehaviour::Late | SendBehaviour::Hangs)),
            ) => self.hangs(bound, message, behaviour).await,
            (Some(_), Some(behaviour)) => {
                if behaviour == SendBehaviour::AcceptedThenFailed
                    && let Some(external) = bound.instance.resolve_external_id()
                {
                    self.take(bound, &external, message, self.injector.attempt());
                }
                simulation.sleep(simulation.pick(&[10, 200, 3_000])).await;
                self.injector.step("refused").await;
                self.refusal(behaviour)
            }
            _ => unknown("no such line", false),
        }
    }

    /// Nothing is sent again of which an echo was taken in. What passes between a look and a request takes seconds, unless
    /// somebody stalls.
    fn check_echo(&self, message: &MessageId) {
        let common = &self.injector.common;
        let echoed = common.observations().echoed.get(message).copied();
        let is_late = echoed.is_some_and(|echoed| echoed + 10_000 < common.simulation.elapsed_ms());
        let excused = common.counters().stalls > 0 || !self.fake_world.failures(message).is_empty();
        if is_late && !excused {
            common.broken(format!("{message} was sent again although its echo had come"));
        }
    }

    /// No answer comes in time; the request may go out later.
    async fn hangs(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        behaviour: SendBehaviour,
    ) -> SendOutcome {
        if behaviour == SendBehaviour::Late {
            self.go_out_late(bound, message);
        }
        self.injector.common.simulation.sleep(TIMEOUT_MS).await;
        self.injector.step("timed out").await;
        unknown("no answer in time", true)
    }

    fn refusal(&self, behaviour: SendBehaviour) -> SendOutcome {
        let retryable = |why: &str, after| SendOutcome::Retryable {
            why: why.to_owned(),
            after,
        };
        match behaviour {
            SendBehaviour::Throttled => {
                let seconds = self.injector.common.simulation.pick(&[1, 30, 30, 120, 1_200]);
                retryable("429", Some(Duration::from_secs(seconds)))
            }
            SendBehaviour::Refused => SendOutcome::Permanent {
                reason: Reason::WhatsappPermanentError,
                why: "not on WhatsApp".to_owned(),
            },
            SendBehaviour::Unexplained => unknown("500", false),
            SendBehaviour::AcceptedThenFailed if !self.injector.lacks(Mutation::GatewayErrorIsNotSent) => {
                unknown("502", true)
            }
            _ => retryable("nothing was sent", None),
        }
    }

    /// The request hangs at the provider and goes out when nobody waits for it any more.
    fn go_out_late(&self, bound: &InstanceConfig, message: &OutgoingMessage) {
        let (services, bound, message) = (self.clone(), bound.clone(), message.clone());
        let attempt = self.injector.attempt();
        let simulation = self.injector.common.simulation.clone();
        simulation.clone().spawn(Life::default(), async move {
            simulation
                .sleep(TIMEOUT_MS + simulation.between(500, 60_000))
                .await;
            let connected = services
                .fake_world
                .line(&bound.instance.id, |line| line.connected);
            if let (Some(true), Some(external)) = (connected, bound.instance.resolve_external_id()) {
                services.take(&bound, &external, &message, attempt);
            }
        });
    }
}

fn disconnected() -> SendOutcome {
    SendOutcome::Disconnected {
        why: "Connection Closed".to_owned(),
    }
}

fn unknown(why: &str, timed_out: bool) -> SendOutcome {
    SendOutcome::Unknown {
        why: why.to_owned(),
        timed_out,
    }
}

fn unreached() -> SendOutcome {
    SendOutcome::Unreached {
        why: "no connection".to_owned(),
    }
}

/// What the sender is told of an outcome.
fn as_told(injector: &FaultInjector, outcome: SendOutcome) -> SendOutcome {
    match outcome {
        SendOutcome::Unreached { why } if injector.lacks(Mutation::UnreachedCounts) => {
            SendOutcome::Retryable { why, after: None }
        }
        outcome => outcome,
    }
}

#[async_trait]
impl Providers for FakeServices {
    fn capabilities(&self, provider: Provider) -> ProviderCapabilities {
        traits(provider)
    }

    fn normalize(&self, instance: Instance) -> Result<Instance, ConfigError> {
        Ok(instance)
    }

    fn interpret_event(&self, job: &InboundJob, payload: &Value) -> InboundEvent {
        self.read(job, payload)
    }

    fn explain_refusal(&self, _: Provider, _: &Content) -> Option<&'static str> {
        None
    }

    async fn send_message(&self, bound: &InstanceConfig, message: &OutgoingMessage) -> SendOutcome {
        self.injector.note_request();
        let outcome = self.request(bound, message).await;
        self.injector.note_outcome(&outcome);
        as_told(&self.injector, outcome)
    }

    async fn query_connection(&self, bound: &InstanceConfig) -> ConnectionAnswer {
        self.injector.step("connectionState").await;
        if !self.fake_world.is_reachable(&bound.instance.id) {
            return ConnectionAnswer::Unreachable;
        }
        let answer = self.fake_world.line(&bound.instance.id, |line| {
            let open = if self.injector.lacks(Mutation::ConnectionEventIsBelieved) {
                line.last_event_says_open
            } else {
                line.connected
            };
            match (line.key_is_good, open || line.provider == Provider::Meta) {
                (false, _) => ConnectionAnswer::NeedsCredentials,
                (true, true) => ConnectionAnswer::Open,
                (true, false) => ConnectionAnswer::Closed,
            }
        });
        self.injector.step("connectionState").await;
        answer.unwrap_or(ConnectionAnswer::Unclear)
    }

    async fn find_send_evidence(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        also: &[ContactAddress],
        claimed_at: Timestamp,
    ) -> SendEvidence {
        self.injector.step("findMessages").await;
        if bound.instance.provider == Provider::Meta || self.injector.lacks(Mutation::NoEvidence) {
            return SendEvidence::None;
        }
        let dropped = !self.injector.common.is_calm() && self.injector.common.simulation.chance(0.1);
        if dropped || !self.fake_world.is_reachable(&bound.instance.id) {
            return SendEvidence::Unclear;
        }
        let since = add_millis(claimed_at, -5_000);
        let text = message.content.render_text();
        let newest = self.fake_world.line(&bound.instance.id, |line| {
            if !line.remembers {
                return None;
            }
            let fits = |kept: &&super::Kept| {
                let is_asked_for = kept.chat == message.to || also.contains(&kept.chat);
                is_asked_for && kept.text == text && kept.at >= since
            };
            line.kept
                .iter()
                .filter(fits)
                .max_by_key(|kept| kept.at)
                .map(|kept| kept.id.clone())
        });
        match newest.flatten() {
            Some(id) => SendEvidence::Sent {
                provider_message_id: Some(id),
            },
            None => SendEvidence::None,
        }
    }

    async fn mark_messages_read(&self, bound: &InstanceConfig, to: &ContactAddress, ids: &[String]) {
        for id in ids {
            self.note_mark(bound, to, id, false);
        }
        self.injector.step("seen").await;
    }

    async fn show_typing(&self, bound: &InstanceConfig, to: &ContactAddress, id: &str) {
        self.note_mark(bound, to, id, true);
        self.injector.step("typing").await;
    }

    async fn fetch_file(
        &self,
        bound: &InstanceConfig,
        request: &FileRequest<'_>,
    ) -> Result<FetchedFile, FileError> {
        self.give_file(bound, request).await
    }

    async fn read_history_page(
        &self,
        bound: &InstanceConfig,
        span: HistorySpan,
        page: u32,
    ) -> Result<HistoryPage, HistoryError> {
        let simulation = &self.injector.common.simulation;
        self.injector.step("findMessages").await;
        simulation.sleep(simulation.pick(&[5, 50, 400])).await;
        let key_is_good = self.fake_world.line(&bound.instance.id, |line| line.key_is_good);
        if key_is_good == Some(false) {
            return Err(HistoryError::Credentials);
        }
        let dropped = !self.injector.common.is_calm() && simulation.chance(0.05);
        if dropped || !self.fake_world.is_reachable(&bound.instance.id) {
            return Err(HistoryError::Unavailable { why: "no answer" });
        }
        let found = self.fake_world.recall(bound, span, page);
        found.ok_or(HistoryError::NotOffered)
    }
}
