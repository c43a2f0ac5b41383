use super::now::Words;
use super::{Accepted, Checked, DeliverError, TRIES, accepted, conversation, repeated};
use crate::World;
use crate::chance::nonce;
use crate::kick;
use crate::ports::{Ambient, Committed, Directory, PortError, PortResult, Scheduling, Written};
use crate::wish::Ready;
use crate::world::pair_rate;
use jiff::Timestamp;
use recado_domain::config::Bound;
use recado_domain::context::Context;
use recado_domain::reason::Reason;
use recado_domain::scheduled::{Scheduled, ScheduledId, ScheduledState};

/// Keeps the message until `at`, with the client's key.
pub(super) async fn schedule<W: World>(
    world: &W,
    checked: Checked,
    at: Timestamp,
) -> Result<Accepted, DeliverError> {
    let Checked {
        bound,
        to,
        ready,
        send,
        claim,
    } = checked;
    let id = ScheduledId::parse(&format!("s_{}", nonce(world.ambient())))
        .map_err(|error| PortError::invalid("scheduled message", error))?;
    let scheduled = Scheduled {
        id,
        tenant: bound.tenant.id,
        instance: bound.instance.id,
        to,
        content: ready.content,
        options: ready.options,
        metadata: send.metadata,
        send_at: at,
        created_at: world.ambient().now(),
        correlation: send.correlation,
        idempotency_key: send.key,
        state: ScheduledState::Pending,
        rev: 1,
    };
    match world.store().put_scheduled(&scheduled, claim.as_ref()).await? {
        Committed::Yes => {
            tracing::info!(message_id = %scheduled.id, send_at = %at, "scheduled");
            Ok(accepted(&scheduled, false))
        }
        Committed::KeyTaken(record) => repeated(world, claim.as_ref(), record, &scheduled.correlation).await,
        Committed::Conflict => Err(DeliverError::Busy),
    }
}

/// A message that is or was to be sent later.
pub async fn find<W: World>(world: &W, id: &ScheduledId) -> PortResult<Option<Scheduled>> {
    world.store().scheduled(id).await
}

/// Takes one back that is not due yet. One that was taken back before stays so.
pub async fn cancel<W: World>(world: &W, id: &ScheduledId) -> Result<Scheduled, DeliverError> {
    for _ in 0..TRIES {
        let found = find(world, id).await?;
        let mut scheduled = found.ok_or(DeliverError::NotFound("message"))?;
        if matches!(scheduled.state, ScheduledState::Cancelled { .. }) {
            return Ok(scheduled);
        }
        scheduled.cancel(world.ambient().now())?;
        if world.store().save_scheduled(&scheduled).await? == Written::Yes {
            tracing::info!(message_id = %id, "a scheduled message was taken back");
            return Ok(scheduled);
        }
    }
    Err(DeliverError::Busy)
}

/// A scheduled message whose time has come becomes a message of its contact's conversation; then the kick. `false`: there
/// was nothing to do (it was taken back, another worker was faster, or its time has not come).
pub async fn fall_due<W: World>(world: &W, id: &ScheduledId) -> PortResult<bool> {
    for _ in 0..TRIES {
        let now = world.ambient().now();
        let found = find(world, id).await?;
        let Some(scheduled) = found.filter(|scheduled| scheduled.due().is_some_and(|due| due <= now)) else {
            return Ok(false);
        };
        let written = match world.store().bound_by_id(&scheduled.instance).await? {
            Some(bound) => become_message(world, &bound, scheduled, now).await?,
            None => give_up(world, scheduled, now).await?,
        };
        if written == Written::Yes {
            return Ok(true);
        }
    }
    Err(PortError::unavailable("conversation", "others kept writing it"))
}

async fn become_message<W: World>(
    world: &W,
    bound: &Bound,
    mut scheduled: Scheduled,
    now: Timestamp,
) -> PortResult<Written> {
    let mut conversation = conversation(world, bound, &scheduled.to).await?;
    let words = Words {
        ready: Ready {
            content: scheduled.content.clone(),
            options: scheduled.options.clone(),
            context: Context::default(),
        },
        to: &scheduled.to,
        correlation: &scheduled.correlation,
        key: scheduled.idempotency_key.as_ref(),
        pair: pair_rate(world, bound),
    };
    let mut message = words.number(&mut conversation, now);
    if let Some(out) = message.out.as_mut() {
        out.metadata.clone_from(&scheduled.metadata);
        out.scheduled = Some(scheduled.id.clone());
    }
    if scheduled.become_message(message.id(), now).is_err() {
        return Ok(Written::Conflict);
    }
    let written = world
        .store()
        .fall_due(&scheduled, &conversation, &message)
        .await?;
    if written == Written::Yes {
        tracing::info!(message_id = %message.id(), scheduled_id = %scheduled.id, "a scheduled message fell due");
        kick::send(world, &message, &message.correlation).await?;
    }
    Ok(written)
}

/// Its instance is no longer configured: nobody can send it.
async fn give_up<W: World>(world: &W, mut scheduled: Scheduled, now: Timestamp) -> PortResult<Written> {
    tracing::error!(message_id = %scheduled.id, "a scheduled message fell due on an instance that is no longer configured");
    if scheduled.give_up(now, Reason::UnknownInstance).is_err() {
        return Ok(Written::Conflict);
    }
    world.store().save_scheduled(&scheduled).await
}
