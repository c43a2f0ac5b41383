//! What can go wrong before a simulation begins.

/// The database could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// `template.yaml` does not declare the table, or the filter of `publisher`, as this crate reads it.
    #[error("the template: {0}")]
    Template(String),
    /// A change of the table cannot be read.
    #[error("a change of the table: {0}")]
    Change(String),
    /// The in-process DynamoDB refused.
    #[error("the in-process database: {0}")]
    Database(#[from] dynoxide::DynoxideError),
}
