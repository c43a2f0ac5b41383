use crate::ids::InstanceId;
use serde::{Deserialize, Serialize};

/// A business portfolio of Meta's: its numbers share one messaging limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Portfolio {
    /// The instance of the same tenant that keeps the portfolio's budget; all its numbers name the same one. If absent, this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceId>,
    /// Number of people to whom the portfolio may write first within 24 hours. If absent, what Meta tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people_per_day: Option<u32>,
}
