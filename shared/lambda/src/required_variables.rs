//! The needs of each function: the environment variables that `template.yaml` sets, and what its role there lets it do with
//! records, queues, payloads, secrets and schedules. [`FUNCTIONS`] is the table of both; tests hold the template against it, in
//! both directions.

use recado_aws::variable::{
    BUCKET, FILE_ORIGIN, INBOUND_DLQ, INBOUND_QUEUE, OUTBOUND_DLQ, OUTBOUND_QUEUE, PARAMETER_PREFIX,
    PUBLISH_EVENTS, PUSH_URL, SCHEDULE_GROUP, SCHEDULER_ROLE, TURNS_DLQ, TURNS_QUEUE, TURNS_QUEUE_ARN,
    WEBHOOKS_QUEUE,
};

type Names = &'static [&'static str];

/// The base URL of the installation's Evolution, for functions that speak to providers.
pub const PROVIDERS: Names = &["EVOLUTION_API_URL"];

/// The installation's own credentials at providers.
pub const PROVIDER_KEYS: Names = &["EVOLUTION_API_KEY", "META_ACCESS_TOKEN", "D360_API_KEY"];

/// The secrets that prove webhooks. `api` reads them to show whether webhooks can be proven.
pub const PROOFS: Names = &["META_APP_SECRET", "META_VERIFY_TOKEN", "D360_PARTNER_SECRET"];

/// The master of the webhook secrets and of the signing secrets.
pub const MASTER: Names = &["RECADO_WEBHOOK_SECRET_ARN"];

/// The keys of the providers of models.
pub const MODEL_KEYS: Names = &[
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "BEDROCK_API_KEY",
];

/// The key of the server that transcribes recordings.
pub const TRANSCRIPTION_KEYS: Names = &[recado_ai::TRANSCRIPTION_KEY];

/// The key of the server with an embedding model.
pub const EMBEDDINGS_KEYS: Names = &[recado_ai::EMBEDDINGS_KEY];

/// The operators' token, the URL that is shown, and the origin from which browsers read files.
pub const OPERATORS: Names = &["RECADO_TOKEN_SECRET_ARN", "RECADO_PUBLIC_URL", FILE_ORIGIN];

/// The WebSocket API that tells pages of news.
pub const PUSH: Names = &[PUSH_URL];

/// The switch of published events, for functions that read them or have them posted.
pub const PUBLISHING: Names = &[PUBLISH_EVENTS];

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
const QUEUES: Names = &[INBOUND_QUEUE, TURNS_QUEUE, OUTBOUND_QUEUE];

/// The dead-letter queues.
const DEAD_LETTER_QUEUES: Names = &[INBOUND_DLQ, TURNS_DLQ, OUTBOUND_DLQ];

/// All queues.
const ALL_QUEUES: Names = &[
    INBOUND_QUEUE,
    TURNS_QUEUE,
    OUTBOUND_QUEUE,
    INBOUND_DLQ,
    TURNS_DLQ,
    OUTBOUND_DLQ,
];

/// The queues to which `reconcile` sends.
const RECONCILED_QUEUES: Names = &[
    INBOUND_QUEUE,
    TURNS_QUEUE,
    OUTBOUND_QUEUE,
    WEBHOOKS_QUEUE,
    INBOUND_DLQ,
    TURNS_DLQ,
    OUTBOUND_DLQ,
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
    /// Variables that its use cases read besides those of its queues, its bucket and its schedules.
    pub read: &'static [Names],
    /// The installation's own secrets that it reads, each in a parameter under `own/` of `ParameterPrefix`.
    pub own_secrets: &'static [Names],
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
    /// `true` if it reads the format of the records when it starts, which opens its connection to the table.
    pub reads_format: bool,
    /// `true` if it reads the webhook masters when it starts.
    pub proves_webhooks: bool,
}

impl FunctionNeeds {
    /// Lists the variables without which the function does not start.
    pub fn list_required_variables(&self) -> Vec<&'static str> {
        let schedules: Names = if self.schedules {
            &[TURNS_QUEUE_ARN, SCHEDULE_GROUP, SCHEDULER_ROLE]
        } else {
            &[]
        };
        let named = [self.sends_to, self.redrives_from, self.counts, schedules].concat();
        let bucket = (!self.objects.is_empty()).then_some(BUCKET);
        let prefix = (!self.own_secrets.is_empty()).then_some(PARAMETER_PREFIX);
        let all = named.into_iter().chain(self.fed_by);
        all.chain(bucket).chain(prefix).collect()
    }
}

/// A function that does nothing but read its variables.
const NOTHING: FunctionNeeds = FunctionNeeds {
    name: "",
    read: &[],
    own_secrets: &[],
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
    reads_format: false,
    proves_webhooks: false,
};

/// The needs of `webhook`, which stores the events of webhooks and enqueues them.
pub const WEBHOOK: FunctionNeeds = FunctionNeeds {
    name: "Webhook",
    read: &[MASTER],
    own_secrets: &[PROOFS],
    // Puts events and notices, and updates deliveries. It reads the configuration to compare notices with it. For a webhook of
    // 360dialog that names no number it lists the numbers.
    actions: &["GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem"],
    sends_to: &[INBOUND_QUEUE],
    objects: &[("payloads", &["PutObject", "DeleteObject"])],
    configured_secrets: &[APP_SECRETS],
    reads_format: true,
    proves_webhooks: true,
    ..NOTHING
};

/// The needs of `processor`, which applies events. A failed delivery creates a message's dead letter.
pub const PROCESSOR: FunctionNeeds = FunctionNeeds {
    name: "Processor",
    read: &[PROVIDERS, SOCIAL],
    own_secrets: &[PROVIDER_KEYS],
    actions: RECORD_ACTIONS,
    // The instance's other conversations, in which the phone's app may have greeted with the same words.
    indexes: &["lists"],
    fed_by: Some(INBOUND_QUEUE),
    sends_to: &[
        INBOUND_QUEUE,
        INBOUND_DLQ,
        TURNS_QUEUE,
        OUTBOUND_QUEUE,
        OUTBOUND_DLQ,
    ],
    // The body of an applied event is deleted.
    objects: &[
        ("payloads", &["GetObject", "DeleteObject"]),
        ("files", &["DeleteObject"]),
    ],
    configured_secrets: &[INSTANCE_SECRETS],
    reads_format: true,
    ..NOTHING
};

/// The needs of `deferred-reply`, which writes replies, now or when the business opens, and sends them.
pub const DEFERRED_REPLY: FunctionNeeds = FunctionNeeds {
    name: "DeferredReply",
    read: &[PROVIDERS],
    own_secrets: &[PROVIDER_KEYS, MODEL_KEYS, TRANSCRIPTION_KEYS, EMBEDDINGS_KEYS],
    // A reply is committed only beside the journal that its draft knew. A claim checks that nobody took the conversation over.
    actions: CHECKING_ACTIONS,
    fed_by: Some(TURNS_QUEUE),
    sends_to: &[TURNS_QUEUE, TURNS_DLQ, OUTBOUND_QUEUE, OUTBOUND_DLQ],
    // Files of messages that came, and uploads that it sends.
    objects: &[
        ("files", &["GetObject", "PutObject", "DeleteObject"]),
        ("payloads", &["GetObject", "DeleteObject"]),
    ],
    configured_secrets: &[INSTANCE_SECRETS],
    schedules: true,
    reads_format: true,
    ..NOTHING
};

/// The needs of `sender`, which sends the messages that `deferred-reply` does not send.
pub const SENDER: FunctionNeeds = FunctionNeeds {
    name: "Sender",
    read: &[PROVIDERS],
    own_secrets: &[PROVIDER_KEYS],
    // A claim checks that nobody took the conversation over.
    actions: CHECKING_ACTIONS,
    fed_by: Some(OUTBOUND_QUEUE),
    sends_to: &[OUTBOUND_QUEUE, OUTBOUND_DLQ, TURNS_QUEUE],
    // Uploads that it sends.
    objects: &[("payloads", &["GetObject"]), ("files", &["PutObject"])],
    configured_secrets: &[INSTANCE_SECRETS],
    reads_format: true,
    ..NOTHING
};

/// The needs of `api`, which answers operators and clients.
pub const API: FunctionNeeds = FunctionNeeds {
    name: "Api",
    read: &[MASTER, PROVIDERS, OPERATORS, PUSH, PUBLISHING],
    own_secrets: &[PROOFS, PROVIDER_KEYS, EMBEDDINGS_KEYS],
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
    reads_format: true,
    ..NOTHING
};

/// The needs of `reconcile`, which looks for work that a crash or an outage left open.
pub const RECONCILE: FunctionNeeds = FunctionNeeds {
    name: "Reconcile",
    read: &[PROVIDERS, PUBLISHING],
    own_secrets: &[PROVIDER_KEYS, TRANSCRIPTION_KEYS],
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
    reads_format: true,
    ..NOTHING
};

/// The needs of `publisher`, which publishes what the stream of the table tells.
pub const PUBLISHER: FunctionNeeds = FunctionNeeds {
    name: "Publisher",
    read: &[PUSH],
    // It reads the head of the log, the events that it published, and the tenants of messages and instances. It reads the push
    // connections, and deletes those that are gone.
    actions: &["GetItem", "BatchGetItem", "Query", "PutItem", "DeleteItem"],
    is_fed_by_stream: true,
    // The endpoints that are told of what it published.
    sends_to: &[WEBHOOKS_QUEUE],
    pushes: true,
    ..NOTHING
};

/// The needs of `poster`, which posts published events to the endpoints of tenants.
pub const POSTER: FunctionNeeds = FunctionNeeds {
    name: "Poster",
    read: &[MASTER],
    // It reads the configuration of endpoints and the log, and keeps what came of the posts.
    actions: &["GetItem", "BatchGetItem", "Query", "PutItem", "DeleteItem"],
    fed_by: Some(WEBHOOKS_QUEUE),
    ..NOTHING
};

/// The needs of each function.
pub const FUNCTIONS: [FunctionNeeds; 8] = [
    WEBHOOK,
    PROCESSOR,
    DEFERRED_REPLY,
    SENDER,
    API,
    RECONCILE,
    PUBLISHER,
    POSTER,
];

#[cfg(test)]
mod tests;
