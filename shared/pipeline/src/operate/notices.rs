use super::OperateError;
use crate::Deps;
use crate::ports::{ConfigurationStore, Notices};
use recado_domain::ids::InstanceId;
use recado_domain::notice::Notice;

/// What the provider told of the account that an instance's number belongs to, the newest first. Nothing, where the
/// configuration does not say which account that is.
pub async fn list_notices<W: Deps>(deps: &W, instance: &InstanceId) -> Result<Vec<Notice>, OperateError> {
    let bound = deps.store().instance_config(instance).await?;
    let instance = bound.ok_or(OperateError::NotFound("instance"))?.instance;
    match &instance.account_id {
        Some(account) => Ok(deps.store().list_notices(instance.provider, account).await?),
        None => Ok(Vec::new()),
    }
}
