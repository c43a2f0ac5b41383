//! Single messages of another tenant, which a stranger asks for by every id that they have: their files and texts, traces and
//! timelines; and messages and files that it sends over the other's instance.

use super::{CONTACTS, Stranger, page, shown, told};
use crate::fake_world::Said;
use crate::plan::address;
use crate::queue::WorkQueues;
use crate::simulator::{FunctionWorld, Simulator};
use futures::executor::block_on;
use jiff::SignedDuration;
use recado_domain::config::Instance;
use recado_domain::content::Content;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::inbound::WebhookItem;
use recado_domain::message::Message;
use recado_domain::millis::{add_duration, add_millis};
use recado_domain::options::SendOptions;
use recado_files::message_file::open_message_file;
use recado_message_views::trace::{TraceTarget, find_provider_message, find_trace, load_timeline};
use recado_pipeline::ports::{ConversationFilter, Store, System};
use recado_pipeline::{random_id, upload};
use recado_sends::DeliverRequest;
use std::fmt::Debug;
use std::sync::Arc;

/// Number of messages of a conversation whose ids the stranger knows.
const KNOWN_MESSAGES: usize = 12;

/// When the voice notes come, in milliseconds: before the stranger asks, and later.
const VOICE_NOTES_MS: [i64; 2] = [2_000, 70_000];

/// The records of another tenant whose ids a stranger knows.
#[derive(Debug, Default)]
pub(super) struct KnownRecords {
    pub(super) conversations: Vec<ConversationId>,
    messages: Vec<Message>,
}

impl KnownRecords {
    /// Reads the newest conversations on the other tenant's instance, and messages of them.
    pub(super) fn read<S, Q>(sim: &Simulator<S, Q>, stranger: &Stranger) -> Self
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let filter = ConversationFilter {
            instance: Some(stranger.other.instance.id.clone()),
            tenant: Some(stranger.other.tenant.id.clone()),
            ..ConversationFilter::default()
        };
        let found = block_on(sim.store.search_conversations(&filter, &page()));
        let mut known = Self::default();
        for conversation in found.expect("conversations are read").items {
            let messages = sim
                .store
                .list_messages_after(&conversation.id, Ordinal(0), KNOWN_MESSAGES);
            known
                .messages
                .extend(block_on(messages).expect("messages are read"));
            known.conversations.push(conversation.id);
        }
        known
    }
}

impl Stranger {
    /// Asks for the files of messages.
    pub(super) async fn ask_for_files<S, Q>(
        &self,
        world: &FunctionWorld<S, Q>,
        known: &KnownRecords,
    ) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let mut answers = String::new();
        for message in known.messages.iter().filter(|message| message.file.is_some()) {
            let opened = open_message_file(world, &self.caller, &message.message_id()).await;
            answers += &told("a file", opened.ok().flatten().ok_or(()));
        }
        answers
    }

    /// Asks what became of messages: by their own ids, those of their events, of requests, and of the provider.
    pub(super) async fn ask_for_traces<S, Q>(
        &self,
        world: &FunctionWorld<S, Q>,
        known: &KnownRecords,
    ) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let mut answers = String::new();
        for message in &known.messages {
            let id = message.message_id();
            let event = message.event.clone().map(TraceTarget::Event);
            let correlation = TraceTarget::Correlation(message.correlation.clone());
            let targets = [TraceTarget::Message(id.clone()), correlation]
                .into_iter()
                .chain(event);
            for target in targets {
                answers += &shown(find_trace(world, &self.caller, &target).await);
            }
            answers += &shown(load_timeline(world, &self.caller, &id).await);
            if let Some(id) = &message.provider_message_id {
                let theirs = Some(&self.other.instance.id);
                for instance in [None, theirs] {
                    answers += &shown(find_provider_message(world, &self.caller, id, instance).await);
                }
            }
        }
        answers
    }

    /// Sends a message and uploads a file over the other tenant's instance.
    pub(super) async fn send_over_their_instance<S, Q>(&self, world: &FunctionWorld<S, Q>) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let (caller, instance) = (&self.caller, &self.other.instance.id);
        let mut answers = String::new();
        for to in self.contacts() {
            for later in [None, Some(SignedDuration::from_hours(1))] {
                let request = DeliverRequest {
                    to: to.clone(),
                    content: Content::from_text("from a stranger"),
                    options: SendOptions::default(),
                    key: None,
                    metadata: None,
                    send_at: later.map(|later| add_duration(world.system.now(), later)),
                    correlation: random_id::generate_correlation_id(&world.system),
                };
                let accepted = recado_sends::accept_message(world, caller, instance, request).await;
                answers += &told("a message", accepted);
            }
        }
        let mime_type = "image/png".to_owned();
        let stored = upload::store_upload(world, caller, instance, mime_type, None, b"bytes").await;
        answers + &told("an upload", stored.ok().flatten().ok_or(()))
    }
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// A contact of its own sends voice notes to an instance.
    pub(super) fn send_voice_notes(self: &Arc<Self>, instance: &Instance) {
        let line = line_number(instance);
        let Some(external) = instance.resolve_external_id() else {
            return;
        };
        for (number, at) in VOICE_NOTES_MS.into_iter().enumerate() {
            let words = format!("m{}-voice", 90_000 + line * 10 + number);
            let said = Said {
                id: &format!("in-{words}"),
                text: &words,
                from_me: false,
                sent_at: Some(add_millis(self.simulation().now(), at)),
            };
            let contact = address(line, CONTACTS - 1);
            let event = said.event(instance.provider, &external, &contact);
            self.post(WebhookItem::Event(event), at);
        }
    }
}

/// Returns the number in the name of a line.
pub(super) fn line_number(instance: &Instance) -> usize {
    let number = instance.id.as_str().rsplit('-').next();
    let number = number.and_then(|number| number.parse().ok());
    number.expect("a line's number")
}
