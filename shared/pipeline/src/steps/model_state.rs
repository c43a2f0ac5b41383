//! The stored state of an instance's model: whether its key is missing, and whether it fails.

use recado_domain::ids::{ConversationId, CorrelationId, InstanceId};
use recado_domain::instance::{InstanceChange, InstanceState};
use recado_ports::Deps;
use recado_ports::ports::PortResult;

/// Counts a turn in which the model failed. Logs an error if it fails for several contacts from now on.
pub(crate) async fn record_model_failure(
    deps: &Deps,
    instance: &InstanceId,
    conversation: &ConversationId,
) -> PortResult<()> {
    let failed = InstanceChange::ModelFailed {
        conversation: conversation.clone(),
        at: deps.system().now(),
    };
    let seen = InstanceState::default();
    let changed = deps
        .store()
        .change_instance_state(instance, &seen, &failed)
        .await?;
    if changed.done {
        tracing::error!(instance_id = %instance, event = "model_fails", "the model fails for several contacts in a row");
    }
    Ok(())
}

/// Stores that the model's key is missing or was refused. Logs an error if that is new.
pub(crate) async fn record_missing_model_key(
    deps: &Deps,
    instance: &InstanceId,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let missing = InstanceChange::ModelKeyMissing(true);
    let seen = InstanceState::default();
    let changed = deps
        .store()
        .change_instance_state(instance, &seen, &missing)
        .await?;
    if changed.done {
        tracing::error!(
            instance_id = %instance, correlation_id = %correlation, event = "needs_credentials",
            "the model's key is missing or was refused: turns wait"
        );
    }
    Ok(())
}
