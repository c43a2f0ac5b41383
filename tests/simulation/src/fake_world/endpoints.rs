//! Systems of tenants that are told of published events. Each endpoint that people make has a stand-in of its own behind another URL,
//! which keeps all that it gets.

use super::{FakeServices, FakeWorld};
use async_trait::async_trait;
use recado_domain::ids::{Nonce, TenantId, WebhookEndpointId};
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::secret::Secret;
use recado_domain::webhook_endpoint::PostError;
use recado_endpoints::derive_signing_secret;
use recado_pipeline::ports::{EndpointPost, EndpointPosts, PostAnswer};
use std::collections::VecDeque;

/// How long the poster waits for an answer, in milliseconds.
const TIMEOUT_MS: i64 = 10_000;

/// The master secret of the installation, of which signing secrets are derived.
pub fn master_secret() -> Secret {
    Secret::from_generated("master".to_owned())
}

/// What becomes of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostBehaviour {
    /// Accepted with a 204.
    Accepted,
    /// Answered 500.
    Fails,
    /// Never answered, and not accepted.
    Hangs,
    /// Accepted, and answered after the poster gave up.
    Late,
}

/// An instant, with the place behind the newest event of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since the start.
    pub at_ms: i64,
    /// The place.
    pub cursor: EventCursor,
}

/// A secret that was shown to who made the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSecret {
    /// The secret.
    pub secret: String,
    /// When it was shown, in milliseconds since the start.
    pub from_ms: i64,
    /// When posts are no more signed with it, in milliseconds since the start; `None`: it is the present one.
    pub until_ms: Option<i64>,
}

/// A post as a stand-in got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedPost {
    /// When, in milliseconds since the start.
    pub at_ms: i64,
    /// The event.
    pub event: PublishedEvent,
    /// The secrets with which it is signed.
    pub secrets: Vec<String>,
    /// Whether the stand-in accepted it, also if the poster was not told.
    pub accepted: bool,
    /// Whether the poster was told so in time.
    pub answered: bool,
}

/// A system behind an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    /// Whose it is.
    pub tenant: TenantId,
    /// The endpoint's id.
    pub name: WebhookEndpointId,
    /// Where it is posted to.
    pub url: String,
    /// When the endpoint was asked for.
    pub asked: Moment,
    /// When it was confirmed.
    pub made: Option<Moment>,
    /// When its removal was asked for.
    pub leaves: Option<Moment>,
    /// When its removal was confirmed.
    pub left: Option<Moment>,
    /// Whether a request about this name may still be under way of which nobody waits for the answer.
    pub is_unsure: bool,
    /// The secrets that were shown, the oldest first.
    pub secrets: Vec<ShownSecret>,
    /// The times in which a rotation was under way, in milliseconds since the start.
    pub rotations: Vec<(i64, i64)>,
    /// Whether its operator paused it.
    pub is_paused: bool,
    /// The times from when a pause was confirmed until its end was asked for, in milliseconds since the start.
    pub pauses: Vec<(i64, i64)>,
    /// Whether passes ran side by side, so that events may come twice.
    pub may_repeat: bool,
    /// What it got.
    pub posts: Vec<ReceivedPost>,
    behaviours: VecDeque<PostBehaviour>,
    refusal: Option<Refusal>,
    fails: bool,
    by_chance: bool,
}

/// The event that a stand-in does not accept: the first of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Refusal {
    kind: &'static str,
    event: Option<String>,
    behaviour: PostBehaviour,
}

impl StandIn {
    /// The next posts end like this; the others are accepted.
    pub fn let_posts_end(&mut self, behaviours: &[PostBehaviour]) {
        self.behaviours.extend(behaviours);
    }

    /// The first event of this kind is answered 500, however often it comes.
    pub fn refuse_first(&mut self, kind: &'static str) {
        self.refusal = Some(Refusal {
            kind,
            event: None,
            behaviour: PostBehaviour::Fails,
        });
    }

    /// From now on the event that was refused is not answered at all.
    pub fn let_refused_hang(&mut self) {
        if let Some(refusal) = &mut self.refusal {
            refusal.behaviour = PostBehaviour::Hangs;
        }
    }

    /// The number of posts of the event that is refused.
    pub fn count_refused(&self) -> usize {
        let refused = self.refusal.as_ref().and_then(|refusal| refusal.event.as_ref());
        let of_it = |post: &&ReceivedPost| Some(&post.event.id) == refused;
        self.posts.iter().filter(of_it).count()
    }

    /// From now on every post is answered 500, or none is.
    pub fn let_all_fail(&mut self, fails: bool) {
        self.fails = fails;
    }

    /// Each post ends as chance says, until nothing goes wrong any more.
    pub fn let_posts_end_by_chance(&mut self) {
        self.by_chance = true;
    }

    /// From now on it accepts everything.
    fn calm(&mut self) {
        self.behaviours.clear();
        self.refusal = None;
        (self.fails, self.by_chance) = (false, false);
    }

    /// Returns `true` if it is configured, as far as its operator knows.
    pub fn is_alive(&self) -> bool {
        self.leaves.is_none()
    }

    /// What becomes of a post of this event. `choice`: what chance says.
    fn draw(&mut self, event: &PublishedEvent, choice: PostBehaviour) -> PostBehaviour {
        if let Some(refusal) = &mut self.refusal
            && refusal.kind == event.kind.as_str()
            && *refusal.event.get_or_insert_with(|| event.id.clone()) == event.id
        {
            return refusal.behaviour;
        }
        if self.fails {
            return PostBehaviour::Fails;
        }
        let by_chance = if self.by_chance {
            choice
        } else {
            PostBehaviour::Accepted
        };
        self.behaviours.pop_front().unwrap_or(by_chance)
    }
}

impl FakeWorld {
    /// A system begins behind a URL of its own. Returns its number.
    pub fn begin_stand_in(&self, tenant: &TenantId, name: &WebhookEndpointId, asked: Moment) -> usize {
        let stand_ins = &mut self.state().stand_ins;
        let number = stand_ins.len();
        stand_ins.push(StandIn {
            tenant: tenant.clone(),
            name: name.clone(),
            url: format!("https://endpoint-{number}.example.org/in"),
            asked,
            made: None,
            leaves: None,
            left: None,
            is_unsure: false,
            secrets: Vec::new(),
            rotations: Vec::new(),
            is_paused: false,
            pauses: Vec::new(),
            may_repeat: false,
            posts: Vec::new(),
            behaviours: VecDeque::new(),
            refusal: None,
            fails: false,
            by_chance: false,
        });
        number
    }

    /// Looks at or changes a stand-in; `None` if there is none of this number.
    pub fn stand_in<T>(&self, number: usize, change: impl FnOnce(&mut StandIn) -> T) -> Option<T> {
        self.state().stand_ins.get_mut(number).map(change)
    }

    /// All stand-ins.
    pub fn stand_ins(&self) -> Vec<StandIn> {
        self.state().stand_ins.clone()
    }

    /// Whether anybody ever made an endpoint.
    pub fn has_stand_ins(&self) -> bool {
        !self.state().stand_ins.is_empty()
    }

    /// From now on every stand-in accepts everything.
    pub(super) fn calm_stand_ins(&self) {
        self.state().stand_ins.iter_mut().for_each(StandIn::calm);
    }

    /// A post arrives.
    fn receive_post(&self, post: &EndpointPost<'_>) -> Option<PostBehaviour> {
        use PostBehaviour::{Accepted, Fails, Hangs, Late};
        let at_ms = self.simulation.elapsed_ms();
        let of = (post.tenant, &post.endpoint.id);
        let master = master_secret();
        let derive = |salt: &&Nonce| {
            let secret = derive_signing_secret(&master, of, salt);
            secret.expose_secret().to_owned()
        };
        let secrets: Vec<String> = post.salts.iter().map(derive).collect();
        let mut state = self.state();
        let stand_in = state
            .stand_ins
            .iter_mut()
            .find(|stand_in| stand_in.url == post.endpoint.url)?;
        let choice = if stand_in.by_chance {
            self.simulation
                .pick(&[Accepted, Accepted, Accepted, Accepted, Fails, Fails, Hangs, Late])
        } else {
            Accepted
        };
        let behaviour = stand_in.draw(post.event, choice);
        stand_in.posts.push(ReceivedPost {
            at_ms,
            event: post.event.clone(),
            secrets,
            accepted: matches!(behaviour, Accepted | Late),
            answered: behaviour == Accepted,
        });
        Some(behaviour)
    }
}

#[async_trait]
impl EndpointPosts for FakeServices {
    async fn post_event(&self, post: EndpointPost<'_>) -> Result<PostAnswer, PostError> {
        let (common, url) = (&self.injector.common, &post.endpoint.url);
        self.injector.step_unchanged("post_event").await;
        let behaviour = self.fake_world.receive_post(&post);
        let (id, kind) = (&post.event.id, post.event.kind.as_str());
        common.note(|| format!("{url} gets {id}, {kind}: {behaviour:?}"));
        self.injector.note_effect("post_event");
        if matches!(behaviour, Some(PostBehaviour::Hangs | PostBehaviour::Late)) {
            common.simulation.sleep(TIMEOUT_MS).await;
        }
        self.injector.step("post_event").await;
        match behaviour {
            Some(PostBehaviour::Accepted) => Ok(PostAnswer { status: 204 }),
            Some(PostBehaviour::Fails) => Err(PostError::Failed("it answered 500".to_owned())),
            Some(PostBehaviour::Hangs | PostBehaviour::Late) => {
                Err(PostError::Failed("it timed out".to_owned()))
            }
            None => Err(PostError::Failed("it was not reached".to_owned())),
        }
    }
}
