//! Asks providers for the pictures of contacts that wrote lately, some in each pass. No message waits for it.

use jiff::Timestamp;
use recado_domain::conversation::{Conversation, ConversationStatus};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::instance::ConnectionStatus;
use recado_pipeline::Deps;
use recado_pipeline::deps::capabilities;
use recado_pipeline::hooks::reconcile_pass::{
    CHECK_INTERVAL_MINUTES, ReconcilePass, is_check_minute, is_every_minute,
};
use recado_pipeline::steps::enabled_instance::find_instance_of;
use recado_pipeline::steps::save_conversation::save_conversation;
use recado_pipeline::steps::working_instances::WorkingPages;
use recado_ports::ports::{ConversationFilter, PageRequest, PictureAnswer, PortResult, WriteOutcome};
use std::collections::BTreeSet;

/// Number of conversations, the most recently active ones, among which a pass looks for pictures that are due.
const LOOKED_AT: usize = 50;

/// Greatest number of pictures that a pass asks for.
const ASKED_MAX: usize = 10;

/// Number of instances whose own conversations a pass looks at, and of pictures that it asks each for.
const INSTANCES_IN_TURN: usize = 5;
const ASKED_IN_TURN: usize = 2;

/// The picture of each contact that writes is asked for once, and again when the answer is old.
pub static PASS: ReconcilePass = ReconcilePass {
    name_in_report: "pictures",
    failure_message: "pictures were not asked for",
    is_due_at: is_every_minute,
    works_on_reading: false,
    run: |deps, _| Box::pin(fetch_due_pictures(deps)),
};

/// The pictures that a pass asked for.
#[derive(Default)]
struct PicturePass {
    stored: usize,
    asked: usize,
    /// Instances that do not tell. They are not asked again in this pass.
    unclear: BTreeSet<InstanceId>,
}

/// Asks for the pictures that are due, of the contacts that wrote last. In the minutes in which silent instances are looked for, some
/// instances come before, in turn, so that a busy one keeps no others waiting. Returns the number of answers that were stored.
async fn fetch_due_pictures(deps: &Deps) -> PortResult<usize> {
    if !deps.settings().picture_refresh.is_positive() {
        return Ok(0);
    }
    let mut pass = PicturePass::default();
    let now = deps.system().now();
    if is_check_minute(now) {
        for (tenant, instance) in list_instances_in_turn(deps, now).await? {
            let of_instance = ConversationFilter::of_instance(&tenant, &instance);
            pass.ask_for_newest(deps, of_instance, ASKED_IN_TURN).await?;
        }
    }
    pass.ask_for_newest(deps, ConversationFilter::default(), ASKED_MAX)
        .await?;
    Ok(pass.stored)
}

/// Lists the instances whose turn it is at `now`, of those whose provider has pictures. Of all others the ids alone are in memory.
async fn list_instances_in_turn(deps: &Deps, now: Timestamp) -> PortResult<Vec<(TenantId, InstanceId)>> {
    let mut working = Vec::new();
    let mut pages = WorkingPages::begin(deps.store()).await?;
    while let Some(page) = pages.next_page().await? {
        let with_pictures = page
            .into_iter()
            .filter(|instance| deps.providers().capabilities(instance.provider).has_pictures);
        working.extend(with_pictures.map(|instance| (instance.tenant, instance.id)));
    }
    let count = working.len().max(1);
    let checks = now
        .as_second()
        .div_euclid(60 * CHECK_INTERVAL_MINUTES)
        .unsigned_abs();
    let first = usize::try_from(checks).unwrap_or_default() % count * INSTANCES_IN_TURN % count;
    working.rotate_left(first);
    working.truncate(INSTANCES_IN_TURN);
    Ok(working)
}

impl PicturePass {
    /// Asks for up to `most` pictures that are due, of the newest active conversations of `filter`.
    async fn ask_for_newest(
        &mut self,
        deps: &Deps,
        filter: ConversationFilter,
        most: usize,
    ) -> PortResult<()> {
        let filter = ConversationFilter {
            status: Some(ConversationStatus::Active),
            ..filter
        };
        let page = PageRequest::first(LOOKED_AT);
        let newest = deps.store().search_conversations(&filter, &page).await?;
        let refresh = deps.settings().picture_refresh;
        let most = ASKED_MAX.min(self.asked + most);
        for conversation in newest.items {
            let is_due = conversation.picture_is_due(refresh, deps.system().now());
            if !is_due || self.asked >= most || self.unclear.contains(&conversation.instance) {
                continue;
            }
            let instance = conversation.instance.clone();
            match ask_for_picture(deps, &conversation).await? {
                None => continue,
                Some(PictureAnswer::Url(url)) => {
                    self.stored += store_picture(deps, conversation, Some(url)).await?;
                }
                Some(PictureAnswer::None) => self.stored += store_picture(deps, conversation, None).await?,
                Some(PictureAnswer::Unclear) => {
                    self.unclear.insert(instance);
                }
            }
            self.asked += 1;
        }
        Ok(())
    }
}

/// Asks for a contact's picture; `None` if its instance cannot be asked.
async fn ask_for_picture(deps: &Deps, conversation: &Conversation) -> PortResult<Option<PictureAnswer>> {
    let Some(bound) = find_instance_of(deps, &conversation.instance, &conversation.tenant).await? else {
        return Ok(None);
    };
    if !capabilities(deps, &bound).has_pictures {
        return Ok(None);
    }
    let state = deps.store().read_instance_state(&bound.instance.id).await?;
    if state.connection != ConnectionStatus::Open {
        return Ok(None);
    }
    let answer = deps
        .providers()
        .fetch_picture(&bound, &conversation.address)
        .await;
    Ok(Some(answer))
}

/// Stores an answer, unless the conversation was changed meanwhile: then a later pass asks again. Returns the number of
/// records that were written.
async fn store_picture(
    deps: &Deps,
    mut conversation: Conversation,
    url: Option<String>,
) -> PortResult<usize> {
    conversation.record_picture(url, deps.system().now());
    let written = save_conversation(deps, &mut conversation).await?;
    Ok(usize::from(written == WriteOutcome::Written))
}
