//! `/v1/dead-letters` and `/health/whatsapp/dlq`.

mod change;

pub(super) use change::{delete, purge, redrive, redrive_many};

use super::refusal::of_list;
use super::view::{DeadLetterView, ListView};
use super::{Api, Depths};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::{Params, Segment, page};
use axum::Json;
use axum::extract::State;
use recado_domain::Timestamp;
use recado_domain::dead_letter::{Deletion, QueueName};
use recado_domain::ids::{CorrelationId, InstanceId};
use recado_domain::reason::Reason;
use recado_pipeline::World;
use recado_pipeline::operate::dead_letters::{self, LetterView};
use recado_pipeline::ports::{DeadLetterFilter, DeadLetters};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many dead letters `/health/whatsapp/dlq` shows.
const NEWEST: usize = 100;

/// Which dead letters are wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    queue: Option<QueueName>,
    reason: Option<Reason>,
    instance: Option<InstanceId>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Dead letters, the newest first.
pub(super) async fn list<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<ListView<DeadLetterView>>, Problem> {
    let page = page(wanted.limit, wanted.cursor)?;
    let filter = DeadLetterFilter {
        queue: wanted.queue,
        reason: wanted.reason,
        instance: wanted.instance,
        since: wanted.since,
        until: wanted.until,
    };
    let found = dead_letters::dead_letters(&*api.world, &filter, &page).await;
    let found = found.map_err(|error| of_list(error, page.cursor.is_some()))?;
    Ok(Json(ListView::of(found, DeadLetterView::from)))
}

/// A dead letter with what would be done again, which may hold what people wrote.
#[derive(Debug, Serialize)]
pub(super) struct DeadLetterDetail {
    #[serde(flatten)]
    letter: DeadLetterView,
    original_id: String,
    payload: Value,
}

/// One dead letter.
pub(super) async fn show<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
) -> Result<Json<DeadLetterDetail>, Problem> {
    let LetterView { letter, payload } = dead_letters::dead_letter(&*api.world, &id).await?;
    Ok(Json(DeadLetterDetail {
        original_id: letter.id.clone(),
        letter: letter.into(),
        payload,
    }))
}

/// Which part of the list of deletions is wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Who deleted a dead letter.
#[derive(Debug, Serialize)]
pub(super) struct DeletionView {
    id: String,
    by: String,
    at: Timestamp,
    died_at: Timestamp,
    queue: QueueName,
    what: String,
    reason: Reason,
    instance_id: Option<InstanceId>,
    correlation_id: CorrelationId,
}

impl From<Deletion> for DeletionView {
    fn from(deletion: Deletion) -> Self {
        Self {
            id: deletion.letter,
            by: deletion.by,
            at: deletion.at,
            died_at: deletion.died,
            queue: deletion.queue,
            what: deletion.what,
            reason: deletion.reason,
            instance_id: deletion.instance,
            correlation_id: deletion.correlation,
        }
    }
}

/// Who deleted which dead letters, the newest first.
pub(super) async fn audit<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Params(part): Params<Part>,
) -> Result<Json<ListView<DeletionView>>, Problem> {
    let page = page(part.limit, part.cursor)?;
    let found = dead_letters::deletions(&*api.world, &page).await;
    let found = found.map_err(|error| of_list(error, page.cursor.is_some()))?;
    Ok(Json(ListView::of(found, DeletionView::from)))
}

/// Which dead letters a monitor wants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Of {
    instance: Option<InstanceId>,
}

/// How many dead letters there are, and the newest of them.
#[derive(Debug, Serialize)]
pub(super) struct DlqView {
    dlq_depth: u64,
    messages: Vec<DlqMessage>,
}

#[derive(Debug, Serialize)]
struct DlqMessage {
    payload: Value,
    original_id: String,
    reason: Reason,
    timestamp: Timestamp,
    attempts: u32,
    last_error: Option<String>,
    correlation_id: CorrelationId,
    queue: QueueName,
    instance: Option<InstanceId>,
}

impl From<LetterView> for DlqMessage {
    fn from(LetterView { letter, payload }: LetterView) -> Self {
        Self {
            payload,
            original_id: letter.id,
            reason: letter.reason,
            timestamp: letter.at,
            attempts: letter.attempts,
            last_error: letter.last_error,
            correlation_id: letter.correlation,
            queue: letter.queue,
            instance: letter.instance,
        }
    }
}

/// `GET /health/whatsapp/dlq`. It shows what people wrote, so it wants the operators' token.
pub(super) async fn dlq<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Params(Of { instance }): Params<Of>,
) -> Result<Json<DlqView>, Problem> {
    let dlq_depth = api.world.store().count_dead_letters(instance.as_ref()).await?;
    let filter = DeadLetterFilter {
        instance,
        ..DeadLetterFilter::default()
    };
    let newest = dead_letters::newest(&*api.world, &filter, NEWEST).await?;
    Ok(Json(DlqView {
        dlq_depth,
        messages: newest.into_iter().map(DlqMessage::from).collect(),
    }))
}
