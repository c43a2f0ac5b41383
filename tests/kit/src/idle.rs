//! Ports that do little, for stories that are about records.

use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::{ConfigError, EmailSender, Instance, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::context::MessageContext;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::email::Email;
use recado_domain::event::InboundJob;
use recado_domain::ids::TokenName;
use recado_domain::inbound::{InboundEvent, InboundMessage};
use recado_domain::provider::Provider;
use recado_domain::wake_up::TurnsJob;
use recado_ports::ports::{
    AcceptedEmail, ConnectionAnswer, DeadLetterQueues, DeadQueueMessage, DocumentReader, EmailError,
    EmailSenders, Embedder, FileBytes, FileError, Files, HistoryError, HistoryPage, HistorySpan,
    InboundEntry, KnowledgeLibrary, Llm, LlmError, LlmReply, LlmRequest, OutboundEntry, OutgoingMessage,
    PortResult, Providers, Queues, SendEvidence, SendOutcome, Tools, Transcriber,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// Queues that take everything and keep nothing, a provider and a carrier of e-mail that send nothing, and a model that is not
/// asked. Of events, the provider reads those that name an address (`address`, `also`, `name`, `id`, `text`, `file`: the kind of a file with that
/// text as its caption); it ignores the others.
#[derive(Debug, Clone, Copy)]
pub struct Idle;

fn read_message(job: &InboundJob, payload: &Value) -> Option<InboundMessage> {
    let text = |name: &str| payload[name].as_str();
    Some(InboundMessage {
        address: ContactAddress::parse(text("address")?)?,
        numberless_identity: text("also").and_then(ContactAddress::parse),
        phone: None,
        name: text("name").map(str::to_owned),
        provider_message_id: text("id").map(str::to_owned),
        from_me: false,
        sent_at: Some(job.received_at),
        content: read_content(payload)?,
        context: MessageContext::default(),
        not_owed: None,
        thread: None,
    })
}

fn read_content(payload: &Value) -> Option<Content> {
    let text = payload["text"].as_str()?;
    let kind = serde_json::from_value::<MediaKind>(payload["file"].clone());
    Some(kind.map_or_else(
        |_| Content::from_text(text),
        |kind| {
            Content::Media(Media {
                source: Some(format!("source of {text}")),
                caption: Some(text.to_owned()),
                ..Media::from_kind(kind)
            })
        },
    ))
}

#[async_trait]
impl Queues for Idle {
    async fn enqueue_inbound(&self, _: &[InboundEntry]) -> PortResult<()> {
        Ok(())
    }

    async fn enqueue_turns_job(&self, _: &TurnsJob, _: Duration) -> PortResult<()> {
        Ok(())
    }

    async fn schedule_turns_job(&self, _: &TurnsJob, _: Timestamp) -> PortResult<()> {
        Ok(())
    }

    async fn enqueue_outbound(&self, _: &[OutboundEntry]) -> PortResult<()> {
        Ok(())
    }

    async fn enqueue_dead_copy(&self, _: &DeadLetter) -> PortResult<()> {
        Ok(())
    }

    async fn put_payload(&self, _: &str, _: &Value) -> PortResult<()> {
        Ok(())
    }

    async fn renew_payload(&self, _: &str) -> PortResult<bool> {
        Ok(false)
    }

    async fn find_payload(&self, _: &str) -> PortResult<Option<Value>> {
        Ok(None)
    }

    async fn delete_payload(&self, _: &str) -> PortResult<()> {
        Ok(())
    }

    async fn delete_inbound(&self, _: &BTreeSet<String>) -> PortResult<()> {
        Ok(())
    }
}

#[async_trait]
impl Files for Idle {
    async fn put_file(&self, _: &str, _: &str, _: FileBytes) -> Result<(), FileError> {
        Ok(())
    }

    async fn open_file(&self, _: &str) -> PortResult<Option<FileBytes>> {
        Ok(None)
    }

    async fn delete_file(&self, _: &str) -> PortResult<()> {
        Ok(())
    }
}

#[async_trait]
impl DeadLetterQueues for Idle {
    async fn receive_dead_messages(&self, _: QueueName) -> PortResult<Vec<DeadQueueMessage>> {
        Ok(Vec::new())
    }

    async fn remove_dead_message(&self, _: &DeadQueueMessage) -> PortResult<()> {
        Ok(())
    }

    async fn enqueue_redrive(&self, _: &DeadLetter, _: &TokenName, _: &str) -> PortResult<()> {
        Ok(())
    }
}

#[async_trait]
impl Providers for Idle {
    fn normalize(&self, instance: Instance) -> Result<Instance, ConfigError> {
        Ok(instance)
    }

    fn interpret_event(&self, job: &InboundJob, payload: &Value) -> InboundEvent {
        let ignored = InboundEvent::Ignored {
            what: "nothing".to_owned(),
        };
        read_message(job, payload).map_or(ignored, |message| InboundEvent::Message(Box::new(message)))
    }

    fn explain_refusal(&self, _: Provider, _: &Content) -> Option<&'static str> {
        None
    }

    async fn send_message(&self, _: &InstanceConfig, _: &OutgoingMessage) -> SendOutcome {
        SendOutcome::Unreached {
            why: "nobody sends".to_owned(),
        }
    }

    async fn query_connection(&self, _: &InstanceConfig) -> ConnectionAnswer {
        ConnectionAnswer::Unclear
    }

    async fn find_send_evidence(
        &self,
        _: &InstanceConfig,
        _: &OutgoingMessage,
        _: &[ContactAddress],
        _: Timestamp,
    ) -> SendEvidence {
        SendEvidence::None
    }

    async fn mark_messages_read(&self, _: &InstanceConfig, _: &ContactAddress, _: &[String]) {}

    async fn show_typing(&self, _: &InstanceConfig, _: &ContactAddress, _: &str) {}

    async fn read_history_page(
        &self,
        _: &InstanceConfig,
        _: HistorySpan,
        _: u32,
    ) -> Result<HistoryPage, HistoryError> {
        Err(HistoryError::NotOffered)
    }
}

#[async_trait]
impl EmailSenders for Idle {
    async fn send_email(&self, _: &EmailSender, _: &Email) -> Result<AcceptedEmail, EmailError> {
        Err(EmailError::Unreachable("nobody sends".to_owned()))
    }

    async fn check_email_sender(&self, _: &EmailSender) -> Result<String, EmailError> {
        Err(EmailError::Unreachable("nobody sends".to_owned()))
    }
}

#[async_trait]
impl Transcriber for Idle {}

#[async_trait]
impl Embedder for Idle {}

#[async_trait]
impl DocumentReader for Idle {}

#[async_trait]
impl KnowledgeLibrary for Idle {}

#[async_trait]
impl Tools for Idle {}

#[async_trait]
impl Llm for Idle {
    async fn generate_reply(&self, _: &LlmRequest) -> Result<LlmReply, LlmError> {
        Err(LlmError::Refused("nobody asks".to_owned()))
    }
}
