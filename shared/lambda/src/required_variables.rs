//! The needs of each function: the environment variables that `template.yaml` sets, and what its role in
//! `infra/permissions.yaml` lets it do with records, queues, payloads, secrets and schedules. [`FUNCTIONS`] is the table of
//! both; tests hold the files against it, in both directions.

use recado_aws::variable;

/// Variables of the webhook function, which stores the events of webhooks and enqueues them.
pub const WEBHOOK: &[&str] = &[variable::INBOUND_QUEUE, variable::BUCKET];

/// Variables of the processor, which applies events. A failed delivery creates a message's dead letter, so it needs
/// `OUTBOUND_DLQ`.
pub const PROCESSOR: &[&str] = &[
    variable::INBOUND_QUEUE,
    variable::INBOUND_DLQ,
    variable::TURNS_QUEUE,
    variable::OUTBOUND_QUEUE,
    variable::OUTBOUND_DLQ,
    variable::BUCKET,
];

/// Variables of the function that writes replies, now or when the business opens.
pub const DEFERRED_REPLY: &[&str] = &[
    variable::TURNS_QUEUE,
    variable::TURNS_QUEUE_ARN,
    variable::TURNS_DLQ,
    variable::OUTBOUND_QUEUE,
    variable::SCHEDULE_GROUP,
    variable::SCHEDULER_ROLE,
    variable::BUCKET,
];

/// Variables of the sender, which sends messages.
pub const SENDER: &[&str] = &[
    variable::OUTBOUND_QUEUE,
    variable::OUTBOUND_DLQ,
    variable::TURNS_QUEUE,
    variable::BUCKET,
];

/// Variables of the API, which answers operators and clients.
pub const API: &[&str] = &[
    variable::INBOUND_QUEUE,
    variable::INBOUND_DLQ,
    variable::TURNS_QUEUE,
    variable::TURNS_DLQ,
    variable::OUTBOUND_QUEUE,
    variable::OUTBOUND_DLQ,
    variable::BUCKET,
];

/// Variables of the publisher, which publishes what the stream of the table tells.
pub const PUBLISHER: &[&str] = &[variable::WEBHOOKS_QUEUE];

/// Variables of the poster, which posts published events to the endpoints of tenants.
pub const POSTER: &[&str] = &[variable::WEBHOOKS_QUEUE];

/// Variables of `reconcile`, which looks for work that a crash or an outage left open.
pub const RECONCILE: &[&str] = &[
    variable::INBOUND_QUEUE,
    variable::INBOUND_DLQ,
    variable::TURNS_QUEUE,
    variable::TURNS_DLQ,
    variable::OUTBOUND_QUEUE,
    variable::OUTBOUND_DLQ,
    variable::WEBHOOKS_QUEUE,
    variable::BUCKET,
];

type Names = &'static [&'static str];

/// The providers' base URLs and the installation's own credentials, for functions that speak to providers.
pub const PROVIDERS: Names = &[
    "EVOLUTION_API_URL",
    "EVOLUTION_API_KEY_PARAMETER",
    "META_BASE_URL",
    "META_API_VERSION",
    "META_ACCESS_TOKEN_PARAMETER",
    "D360_API_KEY_PARAMETER",
];

/// The base URLs of the carriers of e-mail.
pub const CARRIERS: Names = &["RESEND_BASE_URL", "SES_BASE_URL"];

/// The secrets that prove webhooks. `api` reads them to show whether webhooks can be proven.
pub const PROOFS: Names = &[
    "META_APP_SECRET_PARAMETER",
    "META_VERIFY_TOKEN_PARAMETER",
    "D360_PARTNER_SECRET_PARAMETER",
    "RECADO_WEBHOOK_SECRET_ARN",
];

/// The master of the signing secrets.
pub const SIGNING: Names = &["RECADO_WEBHOOK_SECRET_ARN"];

/// The base URLs and keys of the providers of models.
pub const MODEL: Names = &[
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY_PARAMETER",
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY_PARAMETER",
    "GEMINI_BASE_URL",
    "GEMINI_API_KEY_PARAMETER",
    "BEDROCK_BASE_URL",
    "BEDROCK_API_KEY_PARAMETER",
    "OLLAMA_BASE_URL",
];

/// The server that transcribes recordings, and its key.
pub const TRANSCRIPTION: Names = &[
    "RECADO_TRANSCRIPTION_URL",
    "RECADO_TRANSCRIPTION_MODEL",
    "RECADO_TRANSCRIPTION_KEY_PARAMETER",
    "RECADO_TRANSCRIPTION_LANGUAGE",
    "RECADO_TRANSCRIPTION_TIMEOUT_SECONDS",
    "RECADO_TRANSCRIPTION_MAX_BYTES",
];

/// The server with an embedding model, and its key.
pub const EMBEDDINGS: Names = &[
    "RECADO_EMBEDDINGS_URL",
    "RECADO_EMBEDDINGS_MODEL",
    "RECADO_EMBEDDINGS_KEY_PARAMETER",
    "RECADO_EMBEDDINGS_BATCH",
    "RECADO_EMBEDDINGS_TIMEOUT_SECONDS",
];

/// The store of vectors for which snapshots of documents have no room.
pub const VECTORS: Names = &[variable::VECTOR_BUCKET];

/// Google Calendar.
pub const CALENDAR: Names = &[
    "GOOGLE_CALENDAR_BASE_URL",
    "GOOGLE_TOKEN_URL",
    "RECADO_CALENDAR_TIMEOUT_SECONDS",
];

/// The operators' token, and the URL that is shown.
pub const OPERATORS: Names = &["RECADO_TOKEN_SECRET_ARN", "RECADO_PUBLIC_URL"];

/// The WebSocket API that tells pages of news.
pub const PUSH: Names = &[variable::PUSH_URL];

/// The queue of AWS End User Messaging Social.
pub const SOCIAL: Names = &[
    "RECADO_AWS_SOCIAL_QUEUE_ARN",
    "RECADO_AWS_SOCIAL_QUEUE_URL",
    "RECADO_AWS_SOCIAL_TOPICS",
];

/// The actions of the functions that work on the records. A transaction needs those of its parts: it puts, updates and
/// deletes. A read of settled records needs `GetItem`.
const RECORD_ACTIONS: Names = &[
    "GetItem",
    "BatchGetItem",
    "Query",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
];

/// The actions of the functions that make a write depend on a record. The write leaves that record as it is.
const CHECKING_ACTIONS: Names = &[
    "GetItem",
    "BatchGetItem",
    "Query",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "ConditionCheckItem",
];

/// The queues of jobs.
const QUEUES: Names = &[
    variable::INBOUND_QUEUE,
    variable::TURNS_QUEUE,
    variable::OUTBOUND_QUEUE,
];

/// The dead-letter queues.
const DEAD_LETTER_QUEUES: Names = &[variable::INBOUND_DLQ, variable::TURNS_DLQ, variable::OUTBOUND_DLQ];

/// All queues.
const ALL_QUEUES: Names = &[
    variable::INBOUND_QUEUE,
    variable::TURNS_QUEUE,
    variable::OUTBOUND_QUEUE,
    variable::INBOUND_DLQ,
    variable::TURNS_DLQ,
    variable::OUTBOUND_DLQ,
];

/// The queues to which `reconcile` sends.
const RECONCILED_QUEUES: Names = &[
    variable::INBOUND_QUEUE,
    variable::TURNS_QUEUE,
    variable::OUTBOUND_QUEUE,
    variable::WEBHOOKS_QUEUE,
    variable::INBOUND_DLQ,
    variable::TURNS_DLQ,
    variable::OUTBOUND_DLQ,
];

/// The secrets of single instances that are sent to providers.
const INSTANCE_SECRETS: &str = "instances/*";

/// The app secrets of single instances, which prove webhooks.
const APP_SECRETS: &str = "instances/*/app-secret*";

/// The secrets of the destinations of alerts.
const ALERT_SECRETS: &str = "alerts/*";

/// The needs of a function.
#[derive(Debug, Clone, Copy)]
pub struct FunctionNeeds {
    /// Name of the function in `template.yaml`, without `Function`.
    pub name: &'static str,
    /// Variables without which the function does not start.
    pub required: Names,
    /// Variables that its use cases read besides.
    pub read: &'static [Names],
    /// Actions of DynamoDB on the table.
    pub actions: Names,
    /// Indexes of the table that it queries.
    pub indexes: Names,
    /// Variable of the queue that feeds it.
    pub fed_by: Option<&'static str>,
    /// `true` if the stream of the table feeds it.
    pub is_fed_by_stream: bool,
    /// Variables of the queues to which it sends.
    pub sends_to: Names,
    /// Variables of the dead-letter queues from which it takes what is redriven or deleted.
    pub redrives_from: Names,
    /// Variables of the queues whose length it reads.
    pub counts: Names,
    /// Folders of the bucket, each with the actions of S3 on its objects.
    pub objects: &'static [(&'static str, Names)],
    /// Secrets that the configuration can name, as paths under `ParameterPrefix`.
    pub configured_secrets: Names,
    /// `true` if it makes schedules, which send to `turns`.
    pub schedules: bool,
    /// `true` if it tells connections of the WebSocket API of news.
    pub pushes: bool,
}

/// A function that does nothing but read its variables.
const NOTHING: FunctionNeeds = FunctionNeeds {
    name: "",
    required: &[],
    read: &[],
    actions: &[],
    indexes: &[],
    fed_by: None,
    is_fed_by_stream: false,
    sends_to: &[],
    redrives_from: &[],
    counts: &[],
    objects: &[],
    configured_secrets: &[],
    schedules: false,
    pushes: false,
};

/// The needs of each function.
pub const FUNCTIONS: [FunctionNeeds; 8] = [
    FunctionNeeds {
        name: "Webhook",
        required: WEBHOOK,
        read: &[PROOFS],
        // Puts events and notices, and updates deliveries. It reads the configuration, which notices are compared with, and
        // lists the numbers of 360dialog for a webhook that names none.
        actions: &["GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem"],
        sends_to: &[variable::INBOUND_QUEUE],
        objects: &[("payloads", &["PutObject", "DeleteObject"])],
        configured_secrets: &[APP_SECRETS],
        ..NOTHING
    },
    FunctionNeeds {
        name: "Processor",
        required: PROCESSOR,
        read: &[PROVIDERS, SOCIAL],
        actions: RECORD_ACTIONS,
        fed_by: Some(variable::INBOUND_QUEUE),
        sends_to: &[
            variable::INBOUND_QUEUE,
            variable::INBOUND_DLQ,
            variable::TURNS_QUEUE,
            variable::OUTBOUND_QUEUE,
            variable::OUTBOUND_DLQ,
        ],
        // The body of an applied event is deleted.
        objects: &[
            ("payloads", &["GetObject", "DeleteObject"]),
            ("files", &["DeleteObject"]),
        ],
        configured_secrets: &[INSTANCE_SECRETS],
        ..NOTHING
    },
    FunctionNeeds {
        name: "DeferredReply",
        required: DEFERRED_REPLY,
        read: &[PROVIDERS, MODEL, TRANSCRIPTION, EMBEDDINGS, VECTORS, CALENDAR],
        // A reply is committed only beside the journal that its draft knew.
        actions: CHECKING_ACTIONS,
        fed_by: Some(variable::TURNS_QUEUE),
        sends_to: &[
            variable::TURNS_QUEUE,
            variable::TURNS_DLQ,
            variable::OUTBOUND_QUEUE,
        ],
        objects: &[
            ("files", &["GetObject", "PutObject", "DeleteObject"]),
            ("payloads", &["GetObject", "DeleteObject"]),
        ],
        configured_secrets: &[INSTANCE_SECRETS],
        schedules: true,
        ..NOTHING
    },
    FunctionNeeds {
        name: "Sender",
        required: SENDER,
        read: &[PROVIDERS, CARRIERS],
        // A claim checks that nobody took the conversation over.
        actions: CHECKING_ACTIONS,
        fed_by: Some(variable::OUTBOUND_QUEUE),
        sends_to: &[
            variable::OUTBOUND_QUEUE,
            variable::OUTBOUND_DLQ,
            variable::TURNS_QUEUE,
        ],
        // Uploads that it sends.
        objects: &[("payloads", &["GetObject"]), ("files", &["PutObject"])],
        configured_secrets: &[INSTANCE_SECRETS],
        ..NOTHING
    },
    FunctionNeeds {
        name: "Api",
        required: API,
        read: &[PROOFS, PROVIDERS, EMBEDDINGS, VECTORS, OPERATORS, PUSH],
        actions: RECORD_ACTIONS,
        indexes: &["lists", "open", "trace", "tenants", "active"],
        sends_to: QUEUES,
        redrives_from: DEAD_LETTER_QUEUES,
        counts: ALL_QUEUES,
        objects: &[
            ("payloads", &["GetObject", "PutObject", "DeleteObject"]),
            ("files", &["GetObject", "PutObject", "DeleteObject"]),
        ],
        configured_secrets: &[INSTANCE_SECRETS],
        ..NOTHING
    },
    FunctionNeeds {
        name: "Reconcile",
        required: RECONCILE,
        // Effects whose end is not known are settled with the calendar.
        read: &[PROVIDERS, TRANSCRIPTION, CALENDAR],
        actions: RECORD_ACTIONS,
        indexes: &["lists", "open", "tenants", "active"],
        sends_to: RECONCILED_QUEUES,
        redrives_from: DEAD_LETTER_QUEUES,
        counts: ALL_QUEUES,
        // What waits for long is copied onto itself; the body of an event whose dead letter is kept no longer is deleted.
        objects: &[
            ("payloads", &["GetObject", "PutObject", "DeleteObject"]),
            ("files", &["DeleteObject"]),
        ],
        configured_secrets: &[INSTANCE_SECRETS, ALERT_SECRETS],
        ..NOTHING
    },
    FunctionNeeds {
        name: "Publisher",
        required: PUBLISHER,
        read: &[PUSH],
        // It reads the head of the log, what it published, whose a message or an instance is, and which connections it tells of news.
        // It deletes connections that are gone.
        actions: &["GetItem", "BatchGetItem", "Query", "PutItem", "DeleteItem"],
        is_fed_by_stream: true,
        // The endpoints that are told of what it published.
        sends_to: &[variable::WEBHOOKS_QUEUE],
        pushes: true,
        ..NOTHING
    },
    FunctionNeeds {
        name: "Poster",
        required: POSTER,
        read: &[SIGNING],
        // It reads the configuration of endpoints and the log, and keeps what came of the posts.
        actions: &["GetItem", "BatchGetItem", "Query", "PutItem", "DeleteItem"],
        indexes: &["open"],
        fed_by: Some(variable::WEBHOOKS_QUEUE),
        ..NOTHING
    },
];

#[cfg(test)]
mod tests;
