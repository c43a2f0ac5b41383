//! Queries that several requests have.

use recado_domain::ids::{InstanceId, TenantId};
use serde::Deserialize;

/// The instance to which a request is narrowed.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct InstanceQuery {
    /// Only of this instance.
    pub instance: Option<InstanceId>,
}

/// The tenant of a request.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TenantQuery {
    /// The tenant, with a token of the installation. If absent, the only one.
    pub tenant: Option<TenantId>,
}

/// The tenant and the page of a list.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TenantPageQuery {
    /// The tenant, with a token of the installation. If absent, the only one.
    pub tenant: Option<TenantId>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    pub limit: Option<usize>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}
