//! The ports: traits through which the use cases reach stores, queues, providers, the model and the clock.
//!
//! Every operation of a store is atomic: one SQL transaction on one machine, one conditional write or one
//! `TransactWriteItems` on DynamoDB. All of them use optimistic concurrency: a record carries `rev`; a caller reads the
//! record, applies a transition of the domain (which adds one to `rev`) and writes the result; the store accepts the
//! result only if the stored `rev` is still the one that was read. [`WriteOutcome::Conflict`] means that another writer
//! was faster: the caller reads again or comes back later.
//!
//! Records that one operation wrote together are also read together, within one read and from one read to the next: a
//! caller that has seen some of them sees the rest. DynamoDB does not guarantee this (a query may return some of a
//! transaction's records before the others), so its store reads again if records are missing.

use crate::table::Table;

mod conversations;
mod dead_queues;
mod document_reader;
mod effect_tool;
mod email;
mod embedder;
mod endpoint_posts;
mod files;
mod history;
mod inbox;
mod instances;
mod knowledge_library;
mod llm;
mod moving;
mod notification_channels;
mod outbox;
mod overviews;
mod providers;
mod published_events;
mod push_ticket;
mod queues;
mod record_indexes;
mod record_removal;
mod search_words;
mod secrets;
mod system;
mod tool_failure;
mod tools;
mod transcriber;

pub use crate::page::{Page, PageRequest, join_pages};
pub use crate::port_error::{PortError, PortResult, RECORD_BYTES_MAX};
pub use crate::retry_write::WRITE_TRIES;
pub use crate::write_outcome::{CommitOutcome, WriteOutcome};
pub use conversations::{ConversationFilter, ConversationPage, Conversations, EffectGuard};
pub use dead_queues::{DeadLetterQueues, DeadQueueLook, DeadQueueMessage};
pub use document_reader::{DocumentReader, DocumentToRead, ReadDocument, ReadingFailure};
pub use effect_tool::{AskAnswer, CallAnswer, EffectTool, FenceAnswer, MissingEffectTool, SettlingAbility};
pub use email::{AcceptedEmail, EmailError, EmailSenders};
pub use embedder::{Embedder, EmbeddingError, Embeddings};
pub use endpoint_posts::{EndpointPost, EndpointPosts, PostAnswer};
pub use files::{FetchedFile, FileBytes, FileError, FileRequest, Files};
pub use history::{HistoryError, HistoryPage, HistoryRecord, HistorySpan};
pub use inbox::{EventChange, EventFinish, InboundWrite, Inbox, RecordEventOutcome, StoreInboundOutcome};
pub use instances::{InstanceName, Instances, Reservation, SlotTurn};
pub use knowledge_library::{
    FetchedDocument, KnowledgeLibrary, KnownVectors, LibraryError, PageFailure, SearchedQuestion,
};
pub use llm::{
    ChatFile, ChatTurn, HttpAgentRequest, Llm, LlmError, LlmReply, LlmRequest, ModelCall, OfferedTool,
    RefusedFiles, Speaker, ToolExchange,
};
pub use moving::{ImportBegin, MovableRecords, MovedPage, find_used_kind};
pub use notification_channels::{ChannelError, NotificationChannels};
pub use outbox::{ClaimGuard, ClaimOutcome, DeliveryChange, DeliveryLink, NoteChange, OutboxStore};
pub use overviews::{
    DiskSpace, OpenEvent, OpenMessage, OpenWork, Overviews, OwedAnswer, QueueDepth, QueueDepths,
    TroubledInstances, UnacknowledgedCounts, UnacknowledgedFilter, WaitingForPerson,
};
pub use providers::{
    ConnectionAnswer, CredentialState, OutgoingMessage, PictureAnswer, Providers, SendEvidence, SendOutcome,
    TemplateAnswer, UnacknowledgedSend,
};
pub use published_events::{LogPlace, LoggedEvent, PublishedEvents, PublishedPage};
pub use push_ticket::PushTicket;
pub use queues::{InboundEntry, OutboundEntry, Queues};
pub use record_indexes::{CorrelatedRecords, OverdueWork};
pub use record_removal::{DELETED_MESSAGES_MAX, DeletedPart, EventOwners, RecordRemoval};
pub use search_words::SearchWords;
pub use secrets::Secrets;
pub use system::System;
pub use tool_failure::ToolFailure;
pub use tools::{BookedEvent, ToolLimits, Tools};
pub use transcriber::{Recording, RecordingUse, Transcriber, Transcript, TranscriptionError};

/// Joins ports into one, which everything has that has all of them.
macro_rules! join_ports {
    ($(#[$doc:meta])* $name:ident: $first:ident $(+ $port:ident)*) => {
        $(#[$doc])*
        pub trait $name: $first $(+ $port)* {}

        impl<T: $first $(+ $port)*> $name for T {}
    };
}

join_ports!(
    /// The ports that tell how the whole installation fares.
    InstallationStore: Table + Overviews
);

join_ports!(
    /// A store of all records: every store port together.
    Store: Inbox
        + Conversations
        + OutboxStore
        + RecordRemoval
        + Instances
        + InstallationStore
        + PublishedEvents
);

join_ports!(
    /// The queues, the schedule, and the stores of large bodies and files.
    QueuePorts: Queues + DeadLetterQueues + Files
);

join_ports!(
    /// The language model and what works for it: it transcribes recordings, reads documents, makes vectors, searches its library
    /// and calls its tools.
    ModelPorts: Llm
        + Transcriber
        + DocumentReader
        + Embedder
        + KnowledgeLibrary
        + Tools
);
