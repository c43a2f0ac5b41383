//! `/v1/dead-letters`.

use super::refusal::of_list;
use super::view::{DeadLetterView, ListView};
use super::{Api, Depths};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::{Params, page};
use axum::Json;
use axum::extract::State;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::InstanceId;
use recado_domain::reason::Reason;
use recado_pipeline::World;
use recado_pipeline::ports::{DeadLetterFilter, DeadLetters};
use serde::Deserialize;

/// Which dead letters are wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    queue: Option<QueueName>,
    reason: Option<Reason>,
    instance: Option<InstanceId>,
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
    };
    let found = api.world.store().dead_letters(&filter, &page).await;
    let found = found.map_err(|error| of_list(error.into(), page.cursor.is_some()))?;
    Ok(Json(ListView::of(found, DeadLetterView::from)))
}
