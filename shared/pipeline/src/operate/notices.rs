use super::OperateError;
use crate::World;
use crate::ports::{Directory, Notices};
use recado_domain::ids::InstanceId;
use recado_domain::notice::Notice;

/// What the provider told of the account that an instance's number belongs to, the newest first. Nothing, where the
/// configuration does not say which account that is.
pub async fn notices<W: World>(world: &W, instance: &InstanceId) -> Result<Vec<Notice>, OperateError> {
    let bound = world.store().bound_by_id(instance).await?;
    let instance = bound.ok_or(OperateError::NotFound("instance"))?.instance;
    match &instance.account_id {
        Some(account) => Ok(world.store().notices(instance.provider, account).await?),
        None => Ok(Vec::new()),
    }
}
