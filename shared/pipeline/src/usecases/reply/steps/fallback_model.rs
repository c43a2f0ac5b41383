//! Asks the agent's model, and its fallback model while the first is down or overloaded.

use crate::Deps;
use crate::measure;
use recado_domain::config::InstanceConfig;
use recado_ports::ports::{LlmError, LlmReply, LlmRequest};

/// Asks the agent's model. If it is unavailable and the agent has a fallback model, that is asked in what is left of the time: the
/// first then has three fifths of it. The reply names the model that answered. If both fail, the failure is the first's. The
/// request then names the model that answered, so that this one goes on after calls of tools.
pub(in crate::usecases::reply) async fn ask_models(
    deps: &Deps,
    bound: &InstanceConfig,
    request: &mut LlmRequest,
) -> Result<LlmReply, LlmError> {
    let fallback = bound.agent.fallback_model.as_ref();
    let Some(fallback) = fallback.filter(|fallback| **fallback != request.model) else {
        return deps.llm().generate_reply(request).await;
    };
    let (began_at, whole) = (deps.system().now(), request.within);
    request.within = whole * 3 / 5;
    let failed = match deps.llm().generate_reply(request).await {
        Err(failed @ LlmError::Unavailable(_)) => failed,
        answered => return answered,
    };
    measure::count_model_error(&bound.instance.id, Some(&failed));
    tracing::warn!(error = %failed, model = %request.model, "the fallback model is asked");
    let passed = deps.system().now().duration_since(began_at).unsigned_abs();
    request.within = whole.saturating_sub(passed);
    request.model.clone_from(fallback);
    request.key = bound.agent.own_key_for(fallback).cloned();
    let answered = deps.llm().generate_reply(request).await;
    answered.map_err(|error| {
        if matches!(error, LlmError::FilesRefused(_)) {
            // It is asked again without the files that it refuses.
            return error;
        }
        tracing::error!(%error, model = %request.model, "the fallback model failed, too");
        failed
    })
}
