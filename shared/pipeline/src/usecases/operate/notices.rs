use super::OperateError;
use crate::steps::scope::find_instance_within;
use recado_domain::access::Caller;
use recado_domain::ids::InstanceId;
use recado_domain::notice::Notice;
use recado_ports::Deps;
use recado_ports::records::notices;

/// Lists the provider's notices about the account of the instance's number, the newest first. The list is empty if the
/// configuration does not name the account.
pub async fn list_notices(
    deps: &Deps,
    caller: &Caller,
    instance: &InstanceId,
) -> Result<Vec<Notice>, OperateError> {
    let bound = find_instance_within(deps, caller, instance).await?;
    let instance = &bound.ok_or(OperateError::NotFound("instance"))?.instance;
    match &instance.account_id {
        Some(account) => Ok(notices::list_notices(deps.store(), instance.provider, account).await?),
        None => Ok(Vec::new()),
    }
}
