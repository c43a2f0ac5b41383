use super::{AcceptedMessage, CheckedDelivery, DeliverError, return_repeated_send};
use crate::steps::client_message::{append_client_message, find_or_start_conversation, note_invitation};
use crate::steps::idempotency::hold_claimed;
use crate::steps::wake_up;
use recado_domain::access::Caller;
use recado_ports::Deps;
use recado_ports::deps::pair_rate;
use recado_ports::ports::CommitOutcome;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// Commits the message to the contact's conversation, together with the client's key, and enqueues a send job.
pub(super) async fn commit_message(
    deps: &Deps,
    caller: &Caller,
    checked: CheckedDelivery,
) -> Result<AcceptedMessage, DeliverError> {
    let CheckedDelivery {
        bound,
        to,
        ready,
        send,
        claim,
        invitation,
    } = checked;
    retry_lost_write(DeliverError::Busy, (), |()| async {
        let mut conversation = find_or_start_conversation(deps, &bound, &to).await?;
        let mut message = append_client_message(
            &mut conversation,
            &to,
            ready.clone(),
            pair_rate(deps, &bound),
            send.key.as_ref(),
            &send.correlation,
            deps.system().now(),
        );
        if let Some(invitation) = &invitation {
            note_invitation(deps, &mut conversation, &mut message, invitation);
        }
        message.out.metadata.clone_from(&send.metadata);
        message.out.sign_last_step(Some(&caller.name));
        let (id, made) = (message.message_id(), [message.to_record()]);
        let beside = hold_claimed(claim.as_ref(), &id)?;
        let written = deps.store().commit_messages(&conversation, &made, &beside);
        match written.await? {
            CommitOutcome::Committed => {
                let status = message.status_with_delivery(None);
                tracing::info!(message_id = %id, "taken to be sent");
                wake_up::enqueue_send(deps, &message, &send.correlation).await?;
                Ok(WriteAttempt::Done(AcceptedMessage {
                    id,
                    conversation: Some(conversation.id),
                    status,
                    send_at: None,
                    repeated: false,
                }))
            }
            CommitOutcome::Refused(_) => {
                // `None`: it expired meanwhile, or was deleted.
                let repeated = return_repeated_send(deps, claim.as_ref()).await?;
                Ok(repeated.map_or(WriteAttempt::Lost(()), WriteAttempt::Done))
            }
            CommitOutcome::Conflict => Ok(WriteAttempt::Lost(())),
        }
    })
    .await
}
