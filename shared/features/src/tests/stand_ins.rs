//! What stands in for the providers, the model, the keys and the depths of the queues.

use async_trait::async_trait;
use recado_domain::config::{ConfigError, CredentialRef, Instance, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::InboundJob;
use recado_domain::inbound::InboundEvent;
use recado_domain::knowledge::{FoundBlocks, SnapshotName, SplitDocument};
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_domain::webhook_endpoint::PostError;
use recado_domain::{SignedDuration, Timestamp};
use recado_http::{Keys, ProviderSetup, PushTicketIssuer, SetupAnswer, WebhookKeys};
use recado_pipeline::ports::{
    ConnectionAnswer, DocumentReader, DocumentToRead, Embedder, EndpointPost, EndpointPosts, FetchedDocument,
    HistoryError, HistoryPage, HistorySpan, KnowledgeLibrary, KnownVectors, LibraryError, Llm, LlmError,
    LlmReply, LlmRequest, OutgoingMessage, PageFailure, PortError, PortResult, PostAnswer, Providers,
    PushTicket, QueueDepth, QueueDepths, ReadingFailure, SearchedQuestion, SendEvidence, SendOutcome, Tools,
    Transcriber,
};
use recado_testkit::text_library::TextLibrary;
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The HTTP surface calls no provider and no model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotCalled;

#[async_trait]
impl Providers for NotCalled {
    fn normalize(&self, instance: Instance) -> Result<Instance, ConfigError> {
        recado_whatsapp::normalize(instance)
    }

    fn interpret_event(&self, _: &InboundJob, _: &Value) -> InboundEvent {
        unreachable!("the HTTP surface interprets nothing")
    }

    fn explain_refusal(&self, provider: Provider, content: &Content) -> Option<&'static str> {
        recado_whatsapp::explain_refusal(provider, content)
    }

    /// Those are simulated whose ids say so.
    async fn is_simulated(&self, instance: &Instance) -> bool {
        instance.id.as_str().ends_with("-simulated")
    }

    async fn send_message(&self, _: &InstanceConfig, _: &OutgoingMessage) -> SendOutcome {
        unreachable!("the HTTP surface sends nothing")
    }

    async fn query_connection(&self, _: &InstanceConfig) -> ConnectionAnswer {
        ConnectionAnswer::Open
    }

    async fn find_send_evidence(
        &self,
        _: &InstanceConfig,
        _: &OutgoingMessage,
        _: &[ContactAddress],
        _: Timestamp,
    ) -> SendEvidence {
        unreachable!("the HTTP surface calls no provider")
    }

    async fn mark_messages_read(&self, _: &InstanceConfig, _: &ContactAddress, _: &[String]) {
        unreachable!("the HTTP surface calls no provider")
    }

    async fn show_typing(&self, _: &InstanceConfig, _: &ContactAddress, _: &str) {
        unreachable!("the HTTP surface calls no provider")
    }

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
impl Transcriber for NotCalled {}

#[async_trait]
impl Embedder for NotCalled {}

#[async_trait]
impl DocumentReader for NotCalled {}

static LIBRARY: LazyLock<TextLibrary> = LazyLock::new(TextLibrary::default);

#[async_trait]
impl Tools for NotCalled {}

#[async_trait]
impl KnowledgeLibrary for NotCalled {
    async fn split_document(
        &self,
        title: &str,
        document: DocumentToRead<'_>,
        block_characters: usize,
    ) -> Result<SplitDocument, ReadingFailure> {
        // Such a title says that another document of the tenant is read now.
        if title == "busy.md" {
            return Err(ReadingFailure::Busy);
        }
        Ok(LIBRARY.split(title, &document.bytes, block_characters)?)
    }

    async fn fetch_page(
        &self,
        url: &str,
        _: bool,
        _: u64,
        _: Duration,
    ) -> Result<FetchedDocument, PageFailure> {
        let text = url.strip_prefix("https://pages.example/");
        let text = text.ok_or_else(|| PageFailure("no such page".to_owned()))?;
        Ok(FetchedDocument {
            bytes: format!("# Page\nThis is {text}.").into_bytes(),
            content_type: None,
        })
    }

    fn has_snapshot(&self, name: &SnapshotName) -> bool {
        LIBRARY.has(name)
    }

    async fn load_snapshot(&self, name: &SnapshotName, bytes: Vec<u8>) -> Result<(), LibraryError> {
        LIBRARY.load(name, &bytes)
    }

    fn find_snapshot_vectors(&self, name: &SnapshotName) -> Option<KnownVectors> {
        LIBRARY.find_known_vectors(name)
    }

    async fn search_snapshot(
        &self,
        name: &SnapshotName,
        question: SearchedQuestion<'_>,
        limit: usize,
    ) -> Option<FoundBlocks> {
        LIBRARY.search(name, question, limit)
    }
}

#[async_trait]
impl Llm for NotCalled {
    async fn generate_reply(&self, _: &LlmRequest) -> Result<LlmReply, LlmError> {
        unreachable!("the HTTP surface asks no model")
    }
}

/// Keys that stay as they are.
#[derive(Debug, Clone)]
pub(crate) struct FixedKeys {
    pub(crate) webhook: Arc<WebhookKeys>,
    pub(crate) token: Option<Secret>,
    pub(crate) metrics: Option<Secret>,
}

#[async_trait]
impl Keys for FixedKeys {
    /// Tenants `ta` and `tb` have apps; the one of `tb` is in the middle of a rotation.
    async fn app_secret(&self, reference: &CredentialRef) -> Result<Option<Secret>, PortError> {
        let apps = [
            ("RECADO_CREDENTIAL_TA_APP", "app-of-ta"),
            ("RECADO_CREDENTIAL_TB_APP", "app-of-tb, app-of-tb-2"),
            ("META_APP_SECRET", "app-secret"),
        ];
        let named = apps
            .iter()
            .find(|(name, _)| *reference == CredentialRef::Env((*name).to_owned()));
        Ok(named.and_then(|(_, text)| Secret::new(text)))
    }

    async fn webhook_keys(&self, _: Provider) -> PortResult<Arc<WebhookKeys>> {
        Ok(Arc::clone(&self.webhook))
    }

    async fn metrics_token(&self) -> PortResult<Option<Secret>> {
        Ok(self.metrics.clone())
    }

    async fn operator_token(&self) -> PortResult<Option<Secret>> {
        Ok(self.token.clone())
    }
}

/// The depth at which [`SetDepths`] fails.
pub(crate) const UNREADABLE: u64 = u64::MAX;

/// Every queue holds as much as it is set to.
#[derive(Debug, Clone, Default)]
pub(crate) struct SetDepths(pub(crate) Arc<AtomicU64>);

#[async_trait]
impl QueueDepths for SetDepths {
    async fn read_queue_depth(&self, queue: QueueName) -> PortResult<QueueDepth> {
        let waiting = match queue {
            QueueName::Inbound if self.0.load(Ordering::Relaxed) == UNREADABLE => {
                return Err(PortError::unavailable("the depth", "as the test wants"));
            }
            QueueName::Inbound => self.0.load(Ordering::Relaxed),
            QueueName::Turns | QueueName::Outbound => 0,
        };
        Ok(QueueDepth {
            waiting,
            ..QueueDepth::default()
        })
    }
}

/// A part that sets nothing up, and says so.
pub(super) fn set_up_nothing() -> ProviderSetup {
    ProviderSetup::new(|request| {
        let steps = vec![format!("{:?}", request.action)];
        let answer = SetupAnswer {
            steps,
            ..SetupAnswer::default()
        };
        Box::pin(std::future::ready(Ok(answer)))
    })
}

/// Endpoints that accept every post.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accepting;

#[async_trait]
impl EndpointPosts for Accepting {
    async fn post_event(&self, _: EndpointPost<'_>) -> Result<PostAnswer, PostError> {
        Ok(PostAnswer { status: 204 })
    }
}

/// Tickets that name the tenant for which they were made.
pub(super) fn make_push_tickets() -> PushTicketIssuer {
    PushTicketIssuer::new("wss://push.example/live", |tenant| {
        let of = tenant.map_or("all".to_owned(), |tenant| tenant.as_str().to_owned());
        let ticket = PushTicket {
            text: Secret::from_generated(format!("of-{of}")),
            expires_at: Timestamp::UNIX_EPOCH,
            connection_time: SignedDuration::from_mins(15),
        };
        Box::pin(std::future::ready(Ok(ticket)))
    })
}
