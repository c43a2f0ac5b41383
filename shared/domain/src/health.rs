//! How well an instance or the installation works.

/// The health of an instance or of the installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// Everything works.
    Healthy,
    /// Messages are sent and received, but a person should look.
    Degraded,
    /// Messages are not sent or received as they should.
    Unhealthy,
}

impl HealthStatus {
    /// Judges what is either well or not.
    pub fn judge(is_well: bool) -> Self {
        if is_well { Self::Healthy } else { Self::Unhealthy }
    }
}
