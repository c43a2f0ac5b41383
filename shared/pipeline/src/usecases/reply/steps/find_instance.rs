//! The step [`recado_domain::turn::TurnStep::Instance`]: finds the configuration with which the turn works.

use crate::Deps;
use crate::steps::enabled_instance::find_instance_of;
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use std::sync::Arc;

/// Returns the configuration of the conversation's instance. Ends the turn if it is not configured, disabled, or another tenant's by now.
pub(in crate::usecases::reply) async fn find_instance(
    deps: &Deps,
    conversation: &Conversation,
) -> Result<Arc<InstanceConfig>, TurnStop> {
    let found = find_instance_of(deps, &conversation.instance, &conversation.tenant).await?;
    found.ok_or_else(|| TurnEnd::NoInstance.into())
}
