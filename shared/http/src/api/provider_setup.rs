//! The part of the program that sets instances up at their providers, as the API asks it.

use crate::problem::HttpProblem;
use axum::http::StatusCode;
use futures::future::BoxFuture;
use recado_domain::config::Instance;
use recado_domain::secret::Secret;
use recado_pipeline::ports::PortError;
use recado_whatsapp::webhook::WebhookSetup;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The part of the program that speaks to the administration of providers.
#[derive(Clone)]
pub struct ProviderSetup(Arc<SetUp>);

type SetUp = dyn Fn(SetupRequest) -> SettingUp + Send + Sync;

type SettingUp = BoxFuture<'static, Result<SetupAnswer, SetupError>>;

impl ProviderSetup {
    /// Creates it of the function that carries out a request.
    pub fn new(set_up: impl Fn(SetupRequest) -> SettingUp + Send + Sync + 'static) -> Self {
        Self(Arc::new(set_up))
    }

    /// Carries out a request.
    pub fn set_up(&self, request: SetupRequest) -> SettingUp {
        (self.0)(request)
    }
}

impl fmt::Debug for ProviderSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProviderSetup")
    }
}

/// A request about one instance at its provider.
#[derive(Debug, Clone)]
pub struct SetupRequest {
    /// The instance.
    pub instance: Instance,
    /// Its webhook, as this installation wants it.
    pub webhook: WebhookSetup,
    /// The action.
    pub action: SetupAction,
}

/// An action at an instance's provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupAction {
    /// Sets the webhook, and checks that webhooks would arrive.
    Connect(ConnectRequest),
    /// Starts the pairing of a phone.
    Pair,
    /// Checks the setup.
    Check,
}

/// The result of a request.
#[derive(Debug, Clone, Default)]
pub struct SetupAnswer {
    /// Steps that were taken, as sentences.
    pub steps: Vec<String>,
    /// Reason why the instance is not connected, if it is not.
    pub error: Option<String>,
    /// Pairing of the phone, if it was asked for.
    pub pairing: Option<PhonePairing>,
    /// Results of checks, if they were asked for.
    pub checks: Vec<SetupCheck>,
}

/// The state of a phone's pairing.
#[derive(Debug, Clone)]
pub struct PhonePairing {
    /// `true` if a phone is connected, and nothing is to be paired.
    pub is_open: bool,
    /// Content of the QR code.
    pub code: Option<Secret>,
    /// Code of eight characters that can be typed into the phone.
    pub words: Option<Secret>,
}

/// The result of one check.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SetupCheck {
    /// Name of the check.
    #[cfg_attr(feature = "schema", schema(example = "webhook"))]
    pub check: String,
    /// `good`, `note` (it works, but should be known) or `broken`.
    #[cfg_attr(feature = "schema", schema(example = "good"))]
    pub grade: String,
    /// Description of the result.
    pub found: String,
    /// Advice on how to fix a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// The reason why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The instance may not be set up from here; the text says why.
    #[error("{0}")]
    Refused(String),
    /// The provider has nothing of this kind; the text says what to do instead.
    #[error("{0}")]
    NotOffered(String),
    /// The provider refused or did not answer.
    #[error("{0}")]
    Provider(String),
    /// A secret could not be read.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl From<SetupError> for HttpProblem {
    fn from(error: SetupError) -> Self {
        let status = match &error {
            SetupError::Refused(_) => StatusCode::UNPROCESSABLE_ENTITY,
            SetupError::NotOffered(_) => StatusCode::CONFLICT,
            SetupError::Provider(_) => StatusCode::BAD_GATEWAY,
            SetupError::Port(error) => return Self::from_port_error(error),
        };
        Self::new(status, error.to_string())
    }
}

/// The options of connecting. Each is for Evolution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", schema(example = json!({})))]
pub struct ConnectRequest {
    /// `true`: webhooks include files as base64.
    #[cfg_attr(feature = "schema", schema(required = false, default = false))]
    pub base64: bool,
    /// `true`: webhooks carry a signed token instead of the secret itself (from 2.3 on).
    #[cfg_attr(feature = "schema", schema(required = false, default = false))]
    pub jwt: bool,
    /// `true`: the webhook is set also if its URL cannot be checked from here.
    #[cfg_attr(feature = "schema", schema(required = false, default = false))]
    pub force: bool,
    /// `true`: Evolution tells when the contact types, so that a reply waits; `false`: it does not. If absent, as it is set.
    pub typing: Option<bool>,
    /// `true`: Evolution tells what other programs send, so that it counts as a person's answer; `false`: it does not. If
    /// absent, as it is set.
    pub other_senders: Option<bool>,
}
