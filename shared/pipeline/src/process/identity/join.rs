//! Two threads that turn out to be one person's become one: what comes in goes to the conversation under the number, or to
//! the one that goes on where only one does; the other leads there.

use crate::World;
use crate::person::follow;
use crate::ports::{Ambient, Conversations, PortError, PortResult, Written};
use recado_domain::config::Bound;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, Mode, Status};
use recado_domain::ids::{ConversationId, ThreadId};

/// A message that shows both names of a person.
pub(super) struct Joining<'a, W> {
    pub(super) world: &'a W,
    pub(super) bound: &'a Bound,
    /// The address with the number.
    pub(super) shown: &'a ContactAddress,
    /// The identity without one.
    pub(super) also: &'a ContactAddress,
}

fn goes_on(conversation: &Conversation) -> bool {
    conversation.status == Status::Active
}

fn others_wrote<T>() -> PortResult<T> {
    Err(PortError::unavailable("conversation", "others kept writing it"))
}

impl<W: World> Joining<'_, W> {
    /// The person's thread and conversation, from now on: `place` with `newest`, where the number leads, or what there is
    /// under the identity, whose thread is `other`.
    pub(super) async fn join(
        &self,
        place: ThreadId,
        newest: Option<Conversation>,
        other: ThreadId,
    ) -> PortResult<(ThreadId, Option<Conversation>)> {
        let to = newest.as_ref().map_or_else(
            || ConversationId::new(place.clone(), 1),
            |newest| newest.id.clone(),
        );
        // Mostly there is nothing. Then nothing will begin there.
        if self.leads((&other, 1), self.also, &to).await? {
            return Ok((place, newest));
        }
        let Some(nearest) = self.world.store().latest(&other).await? else {
            return others_wrote();
        };
        let (elsewhere, theirs) = follow(self.world, other, Some(nearest.clone())).await?;
        if elsewhere == place {
            // Led here before, by an attempt that came no further.
            let left = self.left_before(nearest).await?;
            let newest = match (newest, left) {
                (Some(newest), Some(left)) => Some(self.go_on(newest, left).await?),
                (newest, _) => newest,
            };
            return Ok((place, newest));
        }
        match (newest, theirs) {
            (newest, Some(theirs)) if !theirs.may_be_of(self.also) => {
                self.lead_again(nearest, &to).await?;
                Ok((place, newest))
            }
            (Some(newest), Some(theirs)) if goes_on(&newest) || !goes_on(&theirs) => {
                let newest = self.as_strict_as(newest, &theirs).await?;
                let left = self.leave(theirs, &newest).await?;
                Ok((place, Some(with(newest, &left))))
            }
            (Some(newest), Some(theirs)) => {
                let left = self.leave(newest, &theirs).await?;
                Ok((elsewhere, Some(with(theirs, &left))))
            }
            (None, Some(theirs)) => {
                if self.leads((&place, 1), self.shown, &theirs.id).await? {
                    return Ok((elsewhere, Some(theirs)));
                }
                others_wrote()
            }
            (newest, None) => {
                self.lead_again(nearest, &to).await?;
                Ok((place, newest))
            }
        }
    }

    /// Makes a thread lead to `to` where its next conversation, of this number, would begin; `false` if it has begun.
    async fn leads(
        &self,
        (thread, number): (&ThreadId, u32),
        name: &ContactAddress,
        to: &ConversationId,
    ) -> PortResult<bool> {
        let id = ConversationId::new(thread.clone(), number);
        let now = self.world.ambient().now();
        let mut leading = Conversation::begin(id, self.bound, name.clone(), name.phone(), now);
        leading.lead_to(to);
        leading.rev = 1;
        Ok(self.world.store().update(&leading).await? == Written::Yes)
    }

    /// The identity's thread, which led to somebody else's conversation, leads to `to`.
    async fn lead_again(&self, mut nearest: Conversation, to: &ConversationId) -> PortResult<()> {
        if nearest.moved_to.is_none() {
            // Somebody else goes on in that very thread.
            return Ok(());
        }
        nearest.move_to(to);
        self.write(&mut nearest).await
    }

    /// `newest`, taken over if people have `theirs` and both go on. Written before anything else: whatever crashes, no
    /// reply is claimed on account of this.
    async fn as_strict_as(
        &self,
        mut newest: Conversation,
        theirs: &Conversation,
    ) -> PortResult<Conversation> {
        let both = goes_on(&newest) && goes_on(theirs);
        if both && theirs.mode == Mode::Manual && newest.take_over() {
            self.write(&mut newest).await?;
        }
        Ok(newest)
    }

    /// Goes on with `newest`, for which `left` was left before. Of who has which, that was seen to then; but who took `newest`
    /// over since could not know of the other.
    async fn go_on(&self, newest: Conversation, mut left: Conversation) -> PortResult<Conversation> {
        let both = goes_on(&newest) && goes_on(&left);
        if both && newest.mode == Mode::Manual && left.take_over() {
            self.write(&mut left).await?;
        }
        Ok(with(newest, &left))
    }

    /// The conversation that was left when `nearest`, the newest of its thread, began to lead elsewhere.
    async fn left_before(&self, nearest: Conversation) -> PortResult<Option<Conversation>> {
        if nearest.listed_as().is_some() {
            return Ok(Some(nearest));
        }
        let before = nearest.id.number().saturating_sub(1);
        let before = ConversationId::new(nearest.id.thread().clone(), before);
        self.world.store().conversation(&before).await
    }

    /// Leaves `left` for `to`: taken over, too, if people have that one. One that is over is left as it is, and the next one's
    /// place in its thread leads on: whoever read it as over would begin that.
    async fn leave(&self, mut left: Conversation, to: &Conversation) -> PortResult<Conversation> {
        if !goes_on(&left) {
            let next = left.id.number().saturating_add(1);
            let address = left.address.clone();
            return if self.leads((left.id.thread(), next), &address, &to.id).await? {
                Ok(left)
            } else {
                others_wrote()
            };
        }
        if goes_on(to) && to.mode == Mode::Manual {
            left.take_over();
        }
        left.move_to(&to.id);
        self.write(&mut left).await?;
        tracing::info!(conversation_id = %left.id, "left for the person's other conversation");
        Ok(left)
    }

    async fn write(&self, conversation: &mut Conversation) -> PortResult<()> {
        conversation.rev += 1;
        match self.world.store().update(conversation).await? {
            Written::Yes => Ok(()),
            Written::Conflict => others_wrote(),
        }
    }
}

/// `conversation` in the place of `left`; written with the message.
fn with(mut conversation: Conversation, left: &Conversation) -> Conversation {
    conversation.take_the_place_of(left);
    conversation
}
