//! The description of opening hours for readers of the API.

use super::OpeningHours;
use super::exception::ExceptionDocument;
use crate::text_conversions::describe_as;
use serde::Serialize;

/// Spans of each weekday, such as `["09:00-12:00", "13:00-18:00"]`, and of exceptional days. A weekday without spans is
/// closed; a span that ends at or before its start runs past midnight.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribedHours {
    mon: Option<Vec<String>>,
    tue: Option<Vec<String>>,
    wed: Option<Vec<String>>,
    thu: Option<Vec<String>>,
    fri: Option<Vec<String>>,
    sat: Option<Vec<String>>,
    sun: Option<Vec<String>>,
    /// Dates on which other hours count than on their weekdays: at most 366 exceptions.
    #[schema(required = false)]
    exceptions: Vec<ExceptionDocument>,
    /// IANA time zone in which the hours are read. If absent, the tenant's.
    time_zone: Option<String>,
    /// The message that a contact gets once while the instance is closed. If absent, nothing is said.
    closed_message: Option<String>,
    /// Number of replies a minute for what waited for an opening.
    #[schema(minimum = 1, maximum = 600, default = 60)]
    replies_per_minute: Option<u32>,
}

describe_as!(OpeningHours, DescribedHours);
