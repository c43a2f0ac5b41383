//! The cost of a message.

use crate::api::usage::{CostItem, list_costs};
use recado_domain::price::Cost;
use serde::Serialize;

/// The cost of a message by the configured prices, as `GET /v1/usage` counts it: of the turn that wrote it, of its recording, and
/// of its charge by the provider.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = MessageCost))]
pub(super) struct CostView {
    /// The cost in each currency. Empty if nothing that was used has a price.
    costs: Vec<CostItem>,
    /// Number of tokens of models that have no price: the costs lack them.
    unpriced_tokens: u64,
    /// Length of a recording whose model has no price for it: the costs lack it.
    unpriced_audio_millis: u64,
    /// Number of charged messages that have no price: the costs lack them.
    unpriced_messages: u64,
}

impl From<Cost> for CostView {
    fn from(cost: Cost) -> Self {
        Self {
            costs: list_costs(&cost),
            unpriced_tokens: cost.unpriced_tokens,
            unpriced_audio_millis: cost.unpriced_audio_millis,
            unpriced_messages: cost.unpriced_messages,
        }
    }
}
