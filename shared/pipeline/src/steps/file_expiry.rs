//! Deletes the bytes of files that their tenant keeps for a shorter time than messages.

use crate::steps::file_fetch::delete_files_of;
use crate::steps::invited_tenant::find_tenant;
use crate::steps::message_changes::write_changed_message;
use recado_domain::message::Message;
use recado_ports::Deps;
use recado_ports::ports::{PortResult, WriteOutcome};

/// Deletes the bytes of a message's file that were to be kept until now, and records that. If the tenant keeps files for another time
/// by now, that counts. Returns `false` if nothing was changed: another worker wrote the message.
///
/// The bytes go first: after a crash in between, the record still leads to them.
pub(crate) async fn remove_expired_file(deps: &Deps, mut message: Message) -> PortResult<bool> {
    let Some(tenant) = find_tenant(deps, &message.tenant).await? else {
        return Ok(false);
    };
    let end = tenant.retention.file_end(message.stored_at);
    let is_over = end.is_some_and(|end| end <= deps.system().now());
    if is_over {
        delete_files_of(deps, std::slice::from_ref(&message)).await?;
    }
    let Some(file) = &mut message.file else {
        return Ok(false);
    };
    if is_over {
        file.record_expired();
    } else {
        file.kept_until = end;
    }
    Ok(write_changed_message(deps, &mut message, None).await? == WriteOutcome::Written)
}
