//! An endpoint as the API shows it.

use crate::ConfiguredEndpoint;
use recado_domain::Timestamp;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::published_event::KindFilter;
use serde::Serialize;

/// The state of an endpoint in one word.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = EndpointStatus))]
#[serde(rename_all = "snake_case")]
enum EndpointStatusView {
    /// The endpoint accepts what it is posted, or was posted nothing yet.
    Working,
    /// Posts fail, and are tried again.
    Failing,
    /// The endpoint failed for five days or said that it is gone: nothing is posted until somebody replays.
    SwitchedOff,
    /// Somebody disabled it.
    Disabled,
}

/// An endpoint with the state of its posts.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WebhookEndpointState))]
pub struct EndpointView {
    id: WebhookEndpointId,
    tenant: TenantId,
    url: String,
    /// The kinds of events that are posted. Empty: all.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    kinds: Vec<KindFilter>,
    disabled: bool,
    status: EndpointStatusView,
    /// Place up to which events were accepted or given up. `null`: nothing was posted yet.
    cursor: Option<String>,
    /// Time of the last post that was accepted.
    accepted_at: Option<Timestamp>,
    /// Time since which every post fails.
    failing_since: Option<Timestamp>,
    /// Number of attempts that failed in a row.
    failures: u32,
    /// Time of the next attempt, while posts fail.
    next_attempt_at: Option<Timestamp>,
    /// Time at which it was switched off.
    switched_off_at: Option<Timestamp>,
    /// The reason of the last failure, while posts fail.
    error: Option<String>,
    /// Time until which posts are signed with the secret before, too.
    previous_secret_until: Option<Timestamp>,
}

impl From<ConfiguredEndpoint> for EndpointView {
    fn from(found: ConfiguredEndpoint) -> Self {
        let (endpoint, state) = (found.endpoint, found.state);
        let is_failing = state.as_ref().is_some_and(|state| state.failures > 0);
        let switched_off_at = state.as_ref().and_then(|state| state.switched_off_at);
        let status = match (endpoint.disabled, switched_off_at, is_failing) {
            (true, ..) => EndpointStatusView::Disabled,
            (false, Some(_), _) => EndpointStatusView::SwitchedOff,
            (false, None, true) => EndpointStatusView::Failing,
            (false, None, false) => EndpointStatusView::Working,
        };
        Self {
            id: endpoint.id,
            tenant: found.tenant,
            url: endpoint.url,
            kinds: endpoint.kinds,
            disabled: endpoint.disabled,
            status,
            cursor: state.as_ref().map(|state| state.cursor.to_string()),
            accepted_at: state.as_ref().and_then(|state| state.accepted_at),
            failing_since: state.as_ref().and_then(|state| state.failing_since),
            failures: state.as_ref().map_or(0, |state| state.failures),
            next_attempt_at: state.as_ref().and_then(|state| state.next_at),
            switched_off_at,
            previous_secret_until: state.as_ref().and_then(|state| state.salts.previous_until),
            error: state.and_then(|state| state.error),
        }
    }
}
