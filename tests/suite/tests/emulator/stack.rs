//! The stack: made once for all tests of the process.

use crate::account::{clients, emulator};
use crate::contact::Contact;
use crate::crowd;
use crate::hours;
use recado_aws::Clients;
use recado_domain::provider::Provider;
use recado_testkit::sample_configuration::META_NUMBER;
use recado_testkit::servers::{Behaviour, EmailStandIn, StandIn, StandIns};
use recado_testkit::webhooks::configured_secret;
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;

/// The account that the stack is in: the emulator's own, the only one whose HTTP APIs answer requests without a signature
/// of AWS.
pub(crate) const ACCOUNT: &str = "000000000000";
/// An Evolution instance.
pub(crate) const INSTANCE: &str = "suporte-01";
/// An Evolution instance whose provider refuses when it is told to.
pub(crate) const REFUSING: &str = "recusa-01";
/// An Evolution instance whose provider fails in every way, and which is audited.
pub(crate) const BALANCED: &str = "balanco-01";
/// An Evolution instance that is closed today.
pub(crate) const CLOSED: &str = "fechada-01";
/// An Evolution instance that opens soon after the tests began.
pub(crate) const OPENING: &str = "abre-logo-01";
/// An Evolution instance that shows contacts what it does with their messages.
pub(crate) const TYPING: &str = "digita-01";
/// An Evolution instance whose provider refuses its key.
pub(crate) const KEYLESS: &str = "sem-chave-01";
/// An Evolution instance whose agent may hand over, and which leaves a contact out.
pub(crate) const TALKS: &str = "conversa-01";
/// What its agent says when the model fails.
pub(crate) const ERROR_MESSAGE: &str = "Desculpe, tive um problema.";
/// An Evolution instance that is closed until a test opens it.
pub(crate) const NIGHT: &str = "noite-01";
/// A number of 360dialog, which invites guests.
pub(crate) const INVITES: &str = "convites-01";
/// 360dialog's name of [`INVITES`].
pub(crate) const INVITES_NUMBER: &str = "200000000000002";
/// An Evolution instance whose batches are slow.
pub(crate) const SLOW: &str = "devagar-01";
/// An Evolution instance whose agent books in a simulated calendar.
pub(crate) const BOOKING: &str = "agenda-01";
/// An Evolution instance whose agent, [`KNOWING_AGENT`], answers from documents.
pub(crate) const KNOWING: &str = "saber-01";
pub(crate) const KNOWING_AGENT: &str = "dora";
/// Meta's name of the Meta instance.
pub(crate) const PHONE_NUMBER_ID: &str = META_NUMBER;
pub(crate) const APP_SECRET: &str = "app-secret-of-this-test";
pub(crate) const VERIFY_TOKEN: &str = "verify-token-of-this-test";

/// Parameters that hold credentials, by the names that `template.yaml` gives them.
const PARAMETERS: [(&str, &str); 8] = [
    ("/recado/own/evolution-api-key", "evolution-key-of-this-test"),
    ("/recado/own/meta-access-token", "meta-token-of-this-test"),
    ("/recado/own/anthropic-api-key", "anthropic-key-of-this-test"),
    ("/recado/own/meta-app-secret", APP_SECRET),
    ("/recado/own/meta-verify-token", VERIFY_TOKEN),
    (OWN_KEY, "key-of-their-own"),
    (CLOUD_KEY, "360dialog-key-of-this-test"),
    (RESEND_KEY, "resend-key-of-this-test"),
];

/// The parameters with the keys of [`INVITES`] and of the sender of e-mails.
const CLOUD_KEY: &str = "/recado/instances/clinic/360dialog-key";
const RESEND_KEY: &str = "/recado/instances/clinic/resend-key";

/// The parameter with the key of instances whose Evolution is another than the installation's.
const OWN_KEY: &str = "/recado/instances/clinic/evolution-key";

/// What was deployed, and what stands around it.
pub(crate) struct Stack {
    pub(crate) stand_ins: StandIns,
    /// The provider of [`REFUSING`].
    pub(crate) refusing: StandIn,
    /// The provider of [`BALANCED`].
    pub(crate) balanced: StandIn,
    /// The provider of [`KEYLESS`].
    keyless: StandIn,
    /// The provider of [`INVITES`].
    pub(crate) dialog360: StandIn,
    /// The carrier of e-mails of the tenant `clinic`.
    pub(crate) resend: EmailStandIn,
    pub(crate) token: String,
    /// Who wrote to [`OPENING`] when the tests began.
    pub(crate) early: Contact,
    /// Whom [`TALKS`] leaves out.
    pub(crate) blocked: Contact,
    outputs: Value,
    master: String,
    /// The answer of `GET /v1/config`, once it is configured.
    configuration: OnceLock<Value>,
}

static STACK: OnceCell<Stack> = OnceCell::const_new();
static BEGUN: AtomicBool = AtomicBool::new(false);

/// The stack, deployed by whoever asks first. Should that fail, nobody tries again.
pub(crate) async fn stack() -> &'static Stack {
    STACK
        .get_or_init(|| async {
            assert!(
                !BEGUN.swap(true, Ordering::SeqCst),
                "the stack could not be made: see the test that failed first"
            );
            Stack::deploy().await
        })
        .await
}

impl Stack {
    async fn deploy() -> Self {
        let (stand_ins, refusing) = (StandIns::start(), StandIn::evolution());
        let (balanced, keyless) = (StandIn::evolution(), StandIn::evolution());
        keyless.expect_credential("another key");
        let keyed = [&stand_ins.evolution, &stand_ins.meta, &stand_ins.anthropic];
        for (stand_in, (_, key)) in keyed.into_iter().zip(PARAMETERS) {
            stand_in.expect_credential(key);
        }
        // As a model thinks; nobody types for a reply that is there at once.
        stand_ins
            .anthropic
            .usually(Behaviour::Hang(Duration::from_millis(500)));
        let aws = clients(ACCOUNT);
        put_parameters(&aws).await;
        let began = Instant::now();
        let (dialog360, resend) = (StandIn::dialog360(), EmailStandIn::resend());
        let outputs = run_deploy(&[], &list_parameters(&stand_ins, &resend));
        println!("deployed in {:.1} s", began.elapsed().as_secs_f64());
        let token = secret(&aws, &outputs, "OperatorTokenSecret").await;
        let master = secret(&aws, &outputs, "WebhookMasterSecret").await;
        let stack = Self {
            stand_ins,
            refusing,
            balanced,
            keyless,
            dialog360,
            resend,
            token,
            early: Contact::new(),
            blocked: Contact::new(),
            outputs,
            master,
            configuration: OnceLock::new(),
        };
        stack.configure().await;
        // What takes minutes is begun first, so that the other tests run meanwhile.
        hours::begin(&stack).await;
        stack
    }

    /// The address of a route.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.output("LocalApiUrl"))
    }

    /// An output of the stack.
    pub(crate) fn output(&self, name: &str) -> &str {
        self.outputs[name]
            .as_str()
            .unwrap_or_else(|| panic!("the stack has no output {name}: {}", self.outputs))
    }

    /// What the webhook secrets are derived from.
    pub(crate) fn master(&self) -> &str {
        &self.master
    }

    /// The webhook secret of an Evolution instance.
    pub(crate) fn secret(&self, instance: &str) -> String {
        self.secret_at(Provider::Evolution, instance)
    }

    /// The webhook secret of an instance of this provider.
    pub(crate) fn secret_at(&self, provider: Provider, instance: &str) -> String {
        let configuration = self.configuration.get().expect("the stack is configured");
        configured_secret(&self.master, (provider, instance), configuration)
    }

    async fn configure(&self) {
        let http = recado_http_client::build_http_client().unwrap();
        let request = http
            .put(self.url("/v1/config"))
            .bearer_auth(&self.token)
            .json(&self.document());
        let response = request.send().await.unwrap();
        let (status, body) = (response.status(), response.text().await.unwrap());
        assert_eq!(status, StatusCode::OK, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        let shown = http.get(self.url("/v1/config")).bearer_auth(&self.token);
        let shown = shown.send().await.unwrap().json().await.unwrap();
        self.configuration.set(shown).unwrap();
        assert_eq!(
            body["instances"][0]["secret"],
            self.secret(INSTANCE),
            "what applying shows opens the webhook"
        );
    }

    fn document(&self) -> Value {
        json!({
            "tenants": [
                {"id": "clinic", "time_zone": "UTC", "email_senders": [{"id": "mail", "kind": "resend",
                    "from": "Clinic <hello@clinic.example>", "credential": format!("ssm:{RESEND_KEY}")}]},
            ],
            "agents": [{
                "id": "ana", "tenant": "clinic", "model": "claude-sonnet-4-5",
                "system_prompt": "You are the receptionist of a clinic.",
            }, {
                "id": "bia", "tenant": "clinic", "model": "claude-sonnet-4-5",
                "system_prompt": "You hand over what you cannot do.",
                "decisions": ["hand_over"], "error_message": ERROR_MESSAGE,
            }, {
                "id": KNOWING_AGENT, "tenant": "clinic", "model": "claude-sonnet-4-5",
                "system_prompt": "You answer from the documents of a clinic.",
            }, {
                "id": "iris", "tenant": "clinic", "model": "claude-sonnet-4-5",
                "system_prompt": "You book appointments.", "tools": ["clinic-agenda"],
            }],
            "calendars": [crowd::calendar()],
            "tools": [crowd::tool()],
            "instances": [
                instance(INSTANCE, &json!({})),
                instance("meta-01", &json!({"provider": "meta", "external_id": PHONE_NUMBER_ID})),
                instance(INVITES, &json!({"provider": "360dialog", "external_id": INVITES_NUMBER,
                    "base_url": self.dialog360.url(), "credential": format!("ssm:{CLOUD_KEY}")})),
                instance(SLOW, &json!({"rate": {"per_second": 1.0, "burst": 5}})),
                instance(REFUSING, &elsewhere(&self.refusing)),
                instance(BALANCED, &elsewhere(&self.balanced)),
                instance(TYPING, &json!({"mark_read": true, "typing": true})),
                instance(KEYLESS, &elsewhere(&self.keyless)),
                instance(TALKS, &json!({"agent": "bia", "access": {"block": [format!("+{}", self.blocked.number)]}})),
                instance(BOOKING, &json!({"agent": "iris"})),
                instance(KNOWING, &json!({"agent": KNOWING_AGENT})),
                instance(NIGHT, &json!({"opening_hours": hours::closed_today()})),
                instance(CLOSED, &json!({"opening_hours": hours::closed_today()})),
                instance(OPENING, &json!({"opening_hours": hours::opening_soon()})),
            ],
        })
    }
}

/// An Evolution instance as the document of the tests has it, with `more`.
pub(crate) fn instance(id: &str, more: &Value) -> Value {
    // Fast enough for all tests at once.
    let rate = json!({"per_second": 100.0, "burst": 100});
    let mut instance =
        json!({"id": id, "tenant": "clinic", "agent": "ana", "provider": "evolution", "rate": rate});
    instance
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    instance
}

/// An Evolution of the instance's own.
fn elsewhere(provider: &StandIn) -> Value {
    json!({"base_url": provider.url(), "credential": format!("ssm:{OWN_KEY}")})
}

/// Before the functions are deployed: they remember for a while that a parameter is missing.
async fn put_parameters(aws: &Clients) {
    for (name, value) in PARAMETERS {
        let kind = aws_sdk_ssm::types::ParameterType::SecureString;
        let request = aws
            .ssm()
            .put_parameter()
            .name(name)
            .value(value)
            .r#type(kind)
            .overwrite(true);
        request.send().await.unwrap();
    }
}

/// The parameters and settings of the stack that differ from their defaults.
fn list_parameters(stand_ins: &StandIns, resend: &EmailStandIn) -> Vec<String> {
    vec![
        format!("EvolutionApiUrl={}", stand_ins.evolution.url()),
        format!("META_BASE_URL={}", stand_ins.meta.url()),
        format!("ANTHROPIC_BASE_URL={}", stand_ins.anthropic.url()),
        format!("RESEND_BASE_URL={}", resend.url()),
        format!("RECADO_TRANSCRIPTION_URL={}", crate::files::start_transcriber()),
        "Simulation=off".to_owned(),
        "RECADO_EMBEDDINGS_URL=simulated".to_owned(),
        // A request that hung is repeated after this; the audit waits for some.
        "RECADO_UNKNOWN_WAIT_SECONDS=30".to_owned(),
        "RECADO_LOG_AWS_REQUESTS=true".to_owned(),
        // The endpoints that are told of events are on this machine.
        "RECADO_PRIVATE_TOOLS=true".to_owned(),
    ]
}

/// `sam deploy`, as `tests/emulator/emulator.py` runs it with these options and parameters; the outputs of the stack.
pub(crate) fn run_deploy(options: &[&str], parameters: &[String]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/emulator.py");
    let emulator = emulator();
    let port = emulator.rsplit(':').next().unwrap().trim_end_matches('/');
    let mut command = Command::new(script);
    command.args(["deploy", "--port", port, "--account", ACCOUNT]);
    command.args(options);
    command.args(parameters.iter().flat_map(|parameter| ["--parameter", parameter]));
    let done = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "the stack was not deployed: {}",
        done.status
    );
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The secret that an output names.
pub(crate) async fn secret(aws: &Clients, outputs: &Value, output: &str) -> String {
    let id = outputs[output].as_str().unwrap();
    aws.secrets()
        .get_secret_value()
        .secret_id(id)
        .send()
        .await
        .unwrap()
        .secret_string
        .unwrap()
}
