//! The world around: provider, phones, model. It remembers what really happened, whatever the records say.

mod acting;
mod agenda;
mod endpoints;
mod files;
mod http_agent;
mod interpret;
mod line;
mod lookup;
mod mailboxes;
mod memory;
mod model;
mod owed;
mod provider;
mod send_behaviour;
mod tools;
mod vectors;
mod webhooks;
mod window;

pub use agenda::{FakeEvent, Happened, ToolBehaviour};
pub use endpoints::{Moment, PostBehaviour, ReceivedPost, ShownSecret, StandIn, master_secret};
use files::FailedDownloads;
pub use http_agent::HUSH;
pub use line::{FileBehaviour, Line};
pub use lookup::LookupBehaviour;
use mailboxes::Mailboxes;
pub use mailboxes::{ArrivedMail, MailBehaviour};
use memory::Kept;
pub use model::{Model, ModelUse, TOKENS_PER_REPLY};
pub use provider::FakeServices;
pub use send_behaviour::{SendBehaviour, SendBehaviours};
pub use tools::{REMINDER_WORDS, blind_tool, calendar_of, calendar_tool, reading_tool, reminding_tool};
pub use webhooks::{Changed, Said, connection_event, failed_event};

use crate::executor::Simulation;
use crate::person;
use recado_domain::contact::ContactAddress;
use recado_domain::decision::AgentDecision;
use recado_domain::ids::{EventId, ExternalId, InstanceId, MessageId, TenantId};
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_domain::provider::ProviderCapabilities;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The provider of an instance with Meta's window; every other is a linked phone.
pub const CLOUD: Provider = Provider::Meta;

/// What the rules ask of a provider here.
pub fn traits(provider: Provider) -> ProviderCapabilities {
    ProviderCapabilities {
        text_max: provider::TEXT_MAX,
        blocks_downloads: provider == CLOUD,
        ..provider.capabilities()
    }
}

/// One message as a phone got it.
#[derive(Debug, Clone)]
pub struct Arrived {
    /// When, in milliseconds since the start.
    pub at_ms: i64,
    /// Which.
    pub message: MessageId,
    /// What it says.
    pub text: String,
    /// Place of the observed attempt that brought it.
    pub attempt: Option<usize>,
}

/// What one request showed to a model.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// When the conversation had been read for it, in milliseconds since the start.
    pub read_ms: i64,
    /// The words of the contact, all of them.
    pub words: BTreeSet<String>,
    /// The agent's prompt.
    pub system: String,
    /// The blocks of the agent's documents.
    pub knowledge: Option<String>,
    /// The tenant whose turn asked.
    pub tenant: Option<TenantId>,
}

/// A webhook that the provider owes us.
#[derive(Debug, Clone)]
pub struct Owed {
    /// What it holds.
    pub item: WebhookItem,
    /// After how many milliseconds it is posted.
    pub after_ms: i64,
}

#[derive(Debug, Default)]
struct State {
    lines: BTreeMap<InstanceId, Line>,
    phones: BTreeMap<(InstanceId, ContactAddress), Vec<Arrived>>,
    sends: BTreeMap<MessageId, u32>,
    failures: Vec<(EventId, MessageId)>,
    owed: Vec<Owed>,
    read: BTreeSet<String>,
    shown: Vec<Shown>,
    calls: Vec<ModelUse>,
    identities: BTreeSet<ContactAddress>,
    next: u64,
    model_key_is_good: bool,
    model_fails: f64,
    model_goes_on: f64,
    model_is_plain: bool,
    model_thinks_ms: Option<i64>,
    model_decides: f64,
    transcriptions_fail: u32,
    embeddings_fail: u32,
    embeddings_hang: u32,
    embedding_takes_ms: Option<i64>,
    searches_hang: u32,
    search_hung: bool,
    model_was_troubled: bool,
    answers: BTreeMap<u64, ModelAnswer>,
    agenda: agenda::Agenda,
    lookups: lookup::Lookups,
    stand_ins: Vec<StandIn>,
    embedded: Vec<(i64, String)>,
    mailboxes: Mailboxes,
    model_answers: BTreeMap<TenantId, u64>,
}

/// What a model was told beside the conversation, and what it decided.
#[derive(Debug, Clone)]
pub struct ModelAnswer {
    /// Its instructions beside the system prompt, the first ones: those of the step.
    pub instructions: Option<String>,
    /// The decision.
    pub decision: Option<AgentDecision>,
    /// The numbers of the effects that it was told are done, and says so.
    pub done: BTreeSet<u64>,
}

/// See the module. Clones are the same world.
#[derive(Debug, Clone)]
pub struct FakeWorld {
    simulation: Simulation,
    state: Arc<Mutex<State>>,
}

impl FakeWorld {
    /// A world without lines.
    pub fn new(simulation: Simulation) -> Self {
        let state = State {
            model_key_is_good: true,
            ..State::default()
        };
        Self {
            simulation,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// So many of the next transcriptions fail.
    pub fn let_transcriptions_fail(&self, count: u32) {
        self.state().transcriptions_fail = count;
    }

    /// So many of the next requests for vectors fail.
    pub fn let_embeddings_fail(&self, count: u32) {
        self.state().embeddings_fail = count;
    }

    /// So many of the next requests for vectors are never answered, after those that fail.
    pub fn let_embeddings_hang(&self, count: u32) {
        self.state().embeddings_hang = count;
    }

    /// The next request for vectors takes so many milliseconds.
    pub fn let_embedding_take(&self, milliseconds: i64) {
        self.state().embedding_takes_ms = Some(milliseconds);
    }

    /// So many of the next searches in the agent's documents never end.
    pub fn let_searches_hang(&self, count: u32) {
        self.state().searches_hang = count;
    }

    /// Returns `true` if a search ever hung.
    pub fn did_search_hang(&self) -> bool {
        self.state().search_hung
    }

    /// From now on, the model decides whenever it may.
    pub fn decide_always(&self) {
        self.state().model_decides = 1.0;
    }

    /// How likely the model decides where it may.
    pub fn decide_with_chance(&self, chance: f64) {
        self.state().model_decides = chance;
    }

    /// The model's answer that says its number as `#number` in `text`.
    pub fn model_answer(&self, text: &str) -> Option<ModelAnswer> {
        let number = text.split_whitespace().find_map(|word| word.strip_prefix('#'))?;
        self.state().answers.get(&number.parse().ok()?).cloned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects an instance.
    pub fn connect(&self, instance: &InstanceId, provider: Provider, behaviours: SendBehaviours) {
        let line = Line {
            provider,
            connected: true,
            key_is_good: true,
            reachable: true,
            behaviours,
            script: VecDeque::new(),
            files: VecDeque::new(),
            downloads: FailedDownloads::default(),
            script_is_steady: false,
            remembers: true,
            steady: BTreeMap::new(),
            requests: Vec::new(),
            last_event_says_open: true,
            clock_ms: 0,
            turns: Vec::new(),
            wrote: BTreeMap::new(),
            refused: Vec::new(),
            kept: Vec::new(),
            received: Vec::new(),
        };
        self.state().lines.insert(instance.clone(), line);
    }

    /// Looks at or changes a line.
    pub fn line<T>(&self, instance: &InstanceId, change: impl FnOnce(&mut Line) -> T) -> Option<T> {
        let mut state = self.state();
        let line = state.lines.get_mut(instance)?;
        let before = line.can_send();
        let changed = change(line);
        line.note_turn(before, self.simulation.elapsed_ms());
        Some(changed)
    }

    /// Whether the provider of an instance can be reached.
    fn is_reachable(&self, instance: &InstanceId) -> bool {
        self.line(instance, |line| line.reachable).unwrap_or(true)
    }

    /// All instances.
    pub fn instances(&self) -> Vec<InstanceId> {
        self.state().lines.keys().cloned().collect()
    }

    /// Sets whether the model's key is good, and how often it fails.
    pub fn set_model(&self, key_is_good: bool, fails: f64) {
        let mut state = self.state();
        state.model_key_is_good = key_is_good;
        state.model_fails = fails;
        state.model_was_troubled |= !key_is_good || fails > 0.0;
    }

    /// Returns `true` if the model's key was ever missing, or its answers failed.
    pub fn was_model_troubled(&self) -> bool {
        self.state().model_was_troubled
    }

    /// Lets the model think for so many milliseconds each time, and not as long as chance says.
    pub fn let_model_think(&self, milliseconds: i64) {
        self.state().model_thinks_ms = Some(milliseconds);
    }

    /// Lets each answer of the model name what it answers.
    pub fn let_model_be_plain(&self) {
        self.state().model_is_plain = true;
    }

    /// Sets how often the model says more than one message holds.
    pub fn let_model_go_on(&self, chance: f64) {
        self.state().model_goes_on = chance;
    }

    /// From now on nothing fails.
    pub fn calm(&self) {
        self.calm_stand_ins();
        let mut state = self.state();
        state.model_key_is_good = true;
        state.model_fails = 0.0;
        for line in state.lines.values_mut() {
            let before = line.can_send();
            line.connected = true;
            line.key_is_good = true;
            line.reachable = true;
            line.behaviours = SendBehaviours::calm();
            line.script.clear();
            line.note_turn(before, self.simulation.elapsed_ms());
        }
    }

    /// The person who has this number is known by an identity without one, too.
    pub fn know_by_identity(&self, number: &ContactAddress) {
        self.state().identities.insert(number.clone());
    }

    /// What each phone got, by the address with its number.
    pub fn phones(&self) -> BTreeMap<(InstanceId, ContactAddress), Vec<Arrived>> {
        self.state().phones.clone()
    }

    /// Counts an attempt that reached WhatsApp.
    fn count_send(&self, message: &MessageId) {
        *self.state().sends.entry(message.clone()).or_default() += 1;
    }

    /// Whether a model was ever shown this word.
    pub fn was_read(&self, word: &str) -> bool {
        self.state().read.contains(word)
    }

    /// All that models were shown.
    pub fn shown(&self) -> Vec<Shown> {
        self.state().shown.clone()
    }

    /// How many requests to send each message reached WhatsApp.
    pub fn sends(&self) -> BTreeMap<MessageId, u32> {
        self.state().sends.clone()
    }

    /// The events that tell that a message failed after it was accepted.
    pub fn failures(&self, message: &MessageId) -> Vec<EventId> {
        let state = self.state();
        let of_it = state.failures.iter().filter(|(_, failed)| failed == message);
        of_it.map(|(event, _)| event.clone()).collect()
    }

    /// Webhooks that the provider owes since this was asked last.
    pub fn take_owed(&self) -> Vec<Owed> {
        std::mem::take(&mut self.state().owed)
    }

    fn fresh_id(&self) -> String {
        let mut state = self.state();
        state.next += 1;
        format!("wa-{}", state.next)
    }

    /// The provider takes a message and the phone has it. Returns its id there.
    fn accept(
        &self,
        instance: &InstanceId,
        external: &ExternalId,
        to: &ContactAddress,
        (message, attempt): (&MessageId, Option<usize>),
        text: &str,
    ) -> String {
        let id = self.fresh_id();
        let (at, at_ms) = (self.simulation.now(), self.simulation.elapsed_ms());
        let chat = self.chat_of(to);
        let mut state = self.state();
        let arrived = Arrived {
            at_ms,
            message: message.clone(),
            text: text.to_owned(),
            attempt,
        };
        state
            .phones
            .entry((instance.clone(), person::phone(to)))
            .or_default()
            .push(arrived);
        let Some(line) = state.lines.get_mut(instance) else {
            return id;
        };
        line.kept.push(Kept {
            chat,
            to: to.clone(),
            also: None,
            text: text.to_owned(),
            id: id.clone(),
            at,
        });
        let provider = line.provider;
        drop(state);
        self.owe_echo_and_statuses(provider, external, to, message, text, &id);
        id
    }

    /// Words typed by the business on its phone, in the chat that these names show.
    pub fn type_on_phone(
        &self,
        instance: &InstanceId,
        (to, also): (ContactAddress, Option<ContactAddress>),
        text: &str,
    ) -> String {
        let id = self.fresh_id();
        let at = self.simulation.now();
        if let Some(line) = self.state().lines.get_mut(instance) {
            line.kept.push(Kept {
                chat: to.clone(),
                to,
                also,
                text: text.to_owned(),
                id: id.clone(),
                at,
            });
        }
        id
    }
}
