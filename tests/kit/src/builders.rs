//! Records to begin a test from: sound, and with ids of their own, so that tests can share one store.

use jiff::Timestamp;
use recado_domain::access_list::AccessList;
use recado_domain::config::{
    Agent, AgentLimits, AgentReturn, ConfigDocument, Instance, InstanceConfig, ReplyFormat, Tenant,
};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::context::MessageContext;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::event::{EventKind, EventPayload, InboundJob, derive_event_id};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{
    AgentId, ConversationId, CorrelationId, ExternalId, InstanceId, Nonce, Ordinal, TenantId, ThreadId,
};
use recado_domain::instance::{
    ChangedInstance, ConnectionStatus, ConnectionUpdate, InFlightSend, InstanceChange,
};
use recado_domain::message::{Message, Role};
use recado_domain::millis::{add_millis, from_unix_millis};
use recado_domain::outbox::{Author, Outbox, OutboxState, hash_text};
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_domain::retention::RetentionPolicy;
use recado_domain::secret::SecretVersion;
use recado_ports::ports::Store;
use serde_json::json;
use std::collections::BTreeSet;

/// When stories begin: 2026-01-05T12:00:00Z.
pub const BASE: Timestamp = Timestamp::constant(1_767_614_400, 0);

/// The base and so many milliseconds.
pub fn at(milliseconds: i64) -> Timestamp {
    add_millis(BASE, milliseconds)
}

/// Long over by any clock (2020): what expires then is expired.
pub fn long_ago() -> Timestamp {
    from_unix_millis(1_577_836_800_000)
}

/// Far ahead by any clock (2100): what expires then is there.
pub fn far_ahead() -> Timestamp {
    from_unix_millis(4_102_444_800_000)
}

/// A year from now by the machine's clock: later than what other cases and earlier runs on the same store have.
pub fn newest() -> Timestamp {
    from_unix_millis(Timestamp::now().as_millisecond() + 365 * 86_400_000)
}

/// A name that nobody else has: `prefix` and 16 hexadecimal digits.
pub fn fresh(prefix: &str) -> String {
    let random = getrandom::u64().expect("the system has random numbers");
    format!("{prefix}-{random:016x}")
}

/// A nonce that nobody else has.
pub fn nonce() -> Nonce {
    Nonce::parse(&fresh("n")).unwrap()
}

/// A tenant with its agent and instance, and a contact who writes to it.
#[derive(Debug, Clone)]
pub struct Fixture {
    /// What is configured.
    pub bound: InstanceConfig,
    /// The contact.
    pub address: ContactAddress,
}

/// The identity key of tests: a store that is to know [`Fixture::thread`] by it keeps it first.
pub fn identity_key() -> IdentityKey {
    IdentityKey::from_bytes([7; 32])
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new()
    }
}

impl Fixture {
    /// On an Evolution instance, answered by the agent.
    pub fn new() -> Self {
        Self::on(Provider::Evolution)
    }

    /// On an instance of `provider`, answered by the agent.
    pub fn on(provider: Provider) -> Self {
        Self {
            bound: bound(provider),
            address: address(),
        }
    }

    /// Another contact of the same instance.
    #[must_use]
    pub fn other_contact(&self) -> Self {
        Self {
            address: address(),
            ..self.clone()
        }
    }

    /// The instance's id.
    pub fn instance(&self) -> &InstanceId {
        &self.bound.instance.id
    }

    /// The provider's name of the instance.
    pub fn external(&self) -> ExternalId {
        self.bound.instance.resolve_external_id().unwrap()
    }

    /// The contact's thread.
    pub fn thread(&self) -> ThreadId {
        identity_key().derive_thread_id(self.instance(), self.address.as_str())
    }

    /// What would have configured it.
    pub fn document(&self) -> ConfigDocument {
        let InstanceConfig {
            instance,
            tenant,
            agent,
            knowledge: _,
            tools,
        } = self.bound.clone();
        ConfigDocument {
            tenants: vec![tenant],
            calendars: Vec::new(),
            tools,
            agents: vec![agent],
            instances: vec![instance],
            alerts: None,
            ..ConfigDocument::default()
        }
    }

    /// A conversation just begun, not stored yet (`rev` 0).
    pub fn conversation(&self, number: u32) -> Conversation {
        let id = ConversationId::new(self.thread(), number);
        Conversation::start_new(
            id,
            &self.bound,
            self.address.clone(),
            self.address.phone_number(),
            BASE,
        )
    }

    /// An event that brings a message of the contact.
    pub fn job(&self) -> InboundJob {
        let (provider, external, name) = (self.bound.instance.provider, self.external(), fresh("wa"));
        InboundJob {
            event: derive_event_id(provider, &external, EventKind::Message, &name),
            provider,
            group: identity_key().derive_event_group(provider, &external, Some(self.address.as_str())),
            external,
            kind: EventKind::Message,
            correlation: correlation(),
            parent: None,
            received_at: BASE,
            payload: EventPayload::Inline(
                json!({"key": {"id": name}, "message": {"conversation": "Bom dia"}}),
            ),
            lookalike: false,
            has_file: false,
            redrive: None,
        }
    }

    /// The message that `job` brings, numbered in `conversation`, which becomes ready to be written with it.
    pub fn inbound(&self, conversation: &mut Conversation, job: &InboundJob) -> Message {
        let ordinal = conversation.receive_message(true, job.received_at).unwrap();
        conversation.record_contact_activity(job.received_at);
        conversation.rev += 1;
        Message {
            event: Some(job.event.clone()),
            correlation: job.correlation.clone(),
            ..self.message(conversation.id.clone(), ordinal, job.received_at)
        }
    }

    /// A queued reply of the agent to all of `conversation`, which becomes ready to be written with it.
    pub fn reply(&self, conversation: &mut Conversation) -> Message {
        let stored_at = conversation.last_message_at;
        let upto = conversation.turn_upto;
        let draft = conversation.acquire_lease(nonce(), upto, stored_at, add_millis(stored_at, 95_000));
        let ordinal = conversation.commit_reply(&draft, stored_at).unwrap();
        conversation.rev += 1;
        self.queued(conversation, ordinal, Author::Ai)
    }

    /// A queued message of a person who has seen all of `conversation` and takes nothing over, otherwise as
    /// [`Self::reply`].
    pub fn answer(&self, conversation: &mut Conversation) -> Message {
        let stored_at = conversation.last_message_at;
        let ordinal = conversation.record_operator_answer(conversation.last, false, stored_at);
        conversation.rev += 1;
        self.queued(conversation, ordinal, Author::Person)
    }

    fn queued(&self, conversation: &Conversation, ordinal: Ordinal, author: Author) -> Message {
        let (covers, stored_at) = (conversation.answered, conversation.last_message_at);
        let mut out = Outbox::new_queued(
            self.address.clone(),
            author,
            conversation.epoch,
            covers,
            stored_at,
        );
        out.last_inbound_at = conversation.contact.last_inbound_at;
        Message {
            role: match author {
                Author::Ai => Role::Assistant,
                Author::Person => Role::Operator,
            },
            content: Content::from_text("Como posso ajudar?"),
            out: Some(out),
            ..self.message(conversation.id.clone(), ordinal, stored_at)
        }
    }

    /// A message of the contact.
    pub fn message(&self, conversation: ConversationId, ordinal: Ordinal, stored_at: Timestamp) -> Message {
        Message {
            conversation,
            ordinal,
            tenant: self.bound.tenant.id.clone(),
            instance: self.instance().clone(),
            role: Role::User,
            content: Content::from_text(format!("Mensagem {ordinal}")),
            context: MessageContext::default(),
            provider_message_id: Some(fresh("wa")),
            written_at: stored_at,
            told_at: None,
            stored_at,
            correlation: correlation(),
            event: None,
            idempotency_key: None,
            unanswered: None,
            model: None,
            usage: None,
            changes: recado_domain::message::MessageChanges::default(),
            file: None,
            rev: 0,
            out: None,
        }
    }

    /// A dead letter of an event of this instance.
    pub fn dead_letter(&self) -> DeadLetter {
        self.dead_letter_of(&self.job(), BASE)
    }

    /// The dead letter of the event of `job`, which failed at `at`.
    pub fn dead_letter_of(&self, job: &InboundJob, at: Timestamp) -> DeadLetter {
        DeadLetter {
            id: job.event.to_string(),
            queue: QueueName::Inbound,
            reason: Reason::Poison,
            at,
            attempts: 3,
            last_error: Some("no such field".to_owned()),
            correlation: job.correlation.clone(),
            tenant: Some(self.bound.tenant.id.clone()),
            instance: Some(self.instance().clone()),
            what: DeadLetterContent::Event(Box::new(InboundJob {
                redrive: Some(at),
                ..job.clone()
            })),
        }
    }
}

/// The way out of a message that has one.
pub fn out(message: &mut Message) -> &mut Outbox {
    message.out.as_mut().expect("the message has a way out")
}

/// `message` claimed by a new attempt, and the attempt's in-flight note.
pub fn claimed(message: &Message) -> (Message, InFlightSend) {
    let (mut message, nonce, until) = (message.clone(), nonce(), at(35_000));
    out(&mut message)
        .claim_attempt(nonce.clone(), BASE, until)
        .unwrap();
    let flight = InFlightSend {
        message: message.message_id(),
        to: out(&mut message).to.clone(),
        nonce,
        claimed_at: BASE,
        until,
        text_hash: hash_text(&message.content.render_text()),
        echo: None,
        maybe_echo: None,
        erased: None,
        is_time_unsure: false,
    };
    (message, flight)
}

/// `message`, which is being sent, as the provider accepted it.
pub fn accepted(message: &Message) -> Message {
    let mut message = message.clone();
    message.provider_message_id = Some(fresh("wa"));
    out(&mut message).mark_sent(at(1_000), None).unwrap();
    message
}

/// Whether the message's way out is in the state of this name.
pub fn is(message: &Message, state: &str) -> bool {
    let state_of = |out: &Outbox| OutboxState::as_str(&out.state) == state;
    message.out.as_ref().is_some_and(state_of)
}

fn make_tenant(id: TenantId) -> Tenant {
    Tenant {
        id,
        name: Some("Clínica Aurora".to_owned()),
        time_zone: "America/Sao_Paulo".to_owned(),
        retention: RetentionPolicy::default(),
        tokens_per_day: None,
        turns_at_once: None,
        deliveries: recado_domain::delivery_rules::DeliveryRules::default(),
        email_senders: Vec::new(),
        webhooks: None,
        budget: None,
        disabled: false,
        removing_since: None,
    }
}

/// A tenant with an agent and an instance of `provider`.
pub fn bound(provider: Provider) -> InstanceConfig {
    let tenant = TenantId::parse(&fresh("clinic")).unwrap();
    let agent = AgentId::parse(&fresh("ana")).unwrap();
    InstanceConfig {
        knowledge: None,
        tools: Vec::new(),
        instance: Instance {
            id: InstanceId::parse(&fresh("front-desk")).unwrap(),
            tenant: tenant.clone(),
            provider,
            external_id: Some(ExternalId::parse(&fresh("line")).unwrap()),
            agent: agent.clone(),
            disabled: false,
            starts_with_ai: true,
            phone_takes_over: true,
            takes_threads: false,
            phone_greets: None,
            access: AccessList::default(),
            agent_returns: AgentReturn::AtResolve,
            opening_hours: None,
            debounce_seconds: None,
            debounce_short_seconds: None,
            debounce_long_seconds: None,
            restart_drafts: None,
            rate: None,
            pair_rate: None,
            reply_delay_seconds: None,
            people_signature: None,
            base_url: None,
            account_id: None,
            portfolio: None,
            reengagement_template: None,
            mark_read: false,
            native_menus: false,
            typing: false,
            api_version: 2,
            app_secret: None,
            credential: None,
            secret_version: SecretVersion::FIRST,
            previous_secret_until: None,
            secret_salt: None,
            tenant_since: None,
            named_by_tenant: false,
        },
        tenant: make_tenant(tenant.clone()),
        agent: Agent {
            id: agent,
            tenant,
            model: "model-1".to_owned(),
            http: None,
            fallback_model: None,
            model_key: None,
            system_prompt: "You answer for the clinic.".to_owned(),
            optimized_system_prompt: None,
            reply_format: ReplyFormat::default(),
            error_message: "Um momento, por favor.".to_owned(),
            max_tokens: 1024,
            unsupported_message: None,
            signature: None,
            decisions: BTreeSet::new(),
            hand_over_message: "Uma pessoa continua aqui.".to_owned(),
            limits: AgentLimits::default(),
            steps: Vec::new(),
            tools: BTreeSet::new(),
            reads_contact_name: false,
            disabled: false,
        },
    }
}

/// A contact that nobody else has.
pub fn address() -> ContactAddress {
    let random = getrandom::u64().expect("the system has random numbers") % 1_000_000_000;
    ContactAddress::parse(&format!("5500{random:09}@s.whatsapp.net")).unwrap()
}

/// A correlation id that nobody else has.
pub fn correlation() -> CorrelationId {
    CorrelationId::parse(&fresh("r")).unwrap()
}

/// What was seen of a connection at `at`, by no question; `probe_at`: when to ask.
pub fn seen(connection: ConnectionStatus, at: Timestamp, probe_at: Option<Timestamp>) -> ConnectionUpdate {
    ConnectionUpdate {
        connection,
        at,
        probe_at,
        asked_at: None,
        releases_waiting: false,
    }
}

/// Makes a change of an instance's state, as a caller does that has just read it.
pub async fn change_instance(store: &dyn Store, id: &InstanceId, change: InstanceChange) -> ChangedInstance {
    let seen = store.read_instance_state(id).await.unwrap();
    store.change_instance_state(id, &seen, &change).await.unwrap()
}
