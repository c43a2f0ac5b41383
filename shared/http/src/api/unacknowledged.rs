//! `/v1/messages/unacknowledged`: lists messages that the provider accepted and WhatsApp did not acknowledge.

use super::error_mapping::list_problem;
use super::request::{Answer, Asked};
use super::view::ListView;
use crate::query::{QueryParams, parse_page_request};
use axum::Json;
use recado_domain::Timestamp;
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::ids::{ConversationId, InstanceId, MessageId};
use recado_pipeline::operate::{self, OperateError};
use serde::{Deserialize, Serialize};

/// The filter and the page of the list.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct UnacknowledgedQuery {
    /// Only of this instance.
    instance: Option<InstanceId>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(test, param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A message that the provider accepted and WhatsApp did not acknowledge in time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct UnacknowledgedView {
    message_id: MessageId,
    conversation_id: Option<ConversationId>,
    instance_id: InstanceId,
    /// Time at which the provider accepted the message.
    accepted_at: Timestamp,
}

impl From<UnacknowledgedMessage> for UnacknowledgedView {
    fn from(found: UnacknowledgedMessage) -> Self {
        Self {
            conversation_id: found.conversation_id(),
            message_id: found.message,
            instance_id: found.awaited.instance,
            accepted_at: found.awaited.accepted_at,
        }
    }
}

/// Lists messages that the provider accepted and WhatsApp did not acknowledge in time; those of one instance the oldest first.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/messages/unacknowledged",
    tag = "Messages",
    params(UnacknowledgedQuery),
    responses((status = 200, body = ListView<UnacknowledgedView>, description = "A page of messages"))
))]
pub(super) async fn list_unacknowledged(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<UnacknowledgedQuery>,
) -> Answer<ListView<UnacknowledgedView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let found = operate::list_unacknowledged(&api.deps, &caller, wanted.instance, &page).await;
    let found = found.map_err(|error| list_problem(OperateError::from(error), page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, UnacknowledgedView::from)))
}
