//! The files of messages in a turn: fetches them, has their texts read, and opens those that the model sees. A file that a model does
//! not take is noted in the record of its message, so that it is shown to no model again; the others are shown.

use crate::file_fetch::{fetch_again_within, fetch_files_within, list_failed_fetches, list_waiting_files};
use crate::file_job::complete_files;
use crate::file_reading::{list_unread_files, read_texts_within};
use crate::file_record::change_file_record;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use recado_domain::file_text::{FILE_TEXT_INSTRUCTIONS, has_file_text};
use recado_domain::ids::Ordinal;
use recado_domain::media_type::MediaType;
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_duration;
use recado_domain::model_files::{FileOmission, FileRefusal};
use recado_domain::turn::TurnStep;
use recado_pipeline::Deps;
use recado_pipeline::hooks::turn_part::TurnPart;
use recado_pipeline::steps::enabled_instance::find_instance_of;
use recado_pipeline::steps::queue_message::format_error_chain;
use recado_pipeline::steps::turn::transcript::ShownFiles;
use recado_pipeline::steps::turn::turn_end::{TurnEnd, TurnStop};
use recado_pipeline::steps::turn::{LeasedTurn, StepTimes, TurnState};
use recado_ports::ports::{LlmError, LlmRequest};
use recado_ports::time_limit::run_within;
use std::time::Duration;

/// Time after which a fetch that failed is tried once more, before the agent answers without the file.
const AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(2);

/// Maximum time to open the files that the model sees.
const OPEN_TIMEOUT: Duration = Duration::from_secs(4);

/// The files of messages.
#[derive(Debug)]
pub struct MessageFiles;

#[async_trait]
impl TurnPart for MessageFiles {
    fn note_messages(&self, deps: &Deps, newest: &[Message], state: &mut TurnState) {
        state.keep(UnreadFiles::from_messages(deps, newest));
    }

    async fn follow_early_stop(
        &self,
        deps: &Deps,
        state: &mut TurnState,
        stop: &TurnStop,
    ) -> Result<(), TurnStop> {
        match state.take::<UnreadFiles>() {
            Some(unread) => Box::pin(unread.fetch_after(deps, stop)).await,
            None => Ok(()),
        }
    }

    async fn prepare_draft(
        &self,
        deps: &Deps,
        turn: &mut LeasedTurn<'_>,
        times: &mut StepTimes,
    ) -> Result<(), TurnStop> {
        let (now, wait) = (deps.system().now(), deps.settings().file_work_wait);
        let until = add_duration(now, turn.time.left_for_files(now, wait));
        let fetches = fetch_files(deps, turn, until);
        times.run(deps, TurnStep::Files, fetches).await?;
        let texts = read_files(deps, turn, until);
        times.run(deps, TurnStep::FileTexts, texts).await?;
        let opens = open_shown_files(deps, turn);
        let shown = times.run(deps, TurnStep::ShownFiles, opens).await?;
        turn.shown = shown;
        Ok(())
    }

    async fn add_to_request(&self, _deps: &Deps, _turn: &mut LeasedTurn<'_>, request: &mut LlmRequest) {
        if request.turns.iter().any(|turn| has_file_text(&turn.text)) {
            request.instructions.push(FILE_TEXT_INSTRUCTIONS.to_owned());
        }
    }

    async fn finish_request(
        &self,
        deps: &Deps,
        turn: &mut LeasedTurn<'_>,
        request: &mut LlmRequest,
    ) -> Result<(), TurnStop> {
        leave_out_unopened_files(deps, turn, request).await;
        Ok(())
    }

    /// Takes files out of a request that the model refuses for them, so that it is asked again. Those for which it does are looked for, once.
    /// Where none is found by itself, there are too many together: the older half is left out until it answers. `earlier`: the number of
    /// times that this was done for the request.
    async fn mend_request(
        &self,
        deps: &Deps,
        turn: &mut LeasedTurn<'_>,
        request: &mut LlmRequest,
        error: LlmError,
        earlier: usize,
    ) -> Result<(), LlmError> {
        let refused = match error {
            LlmError::FilesRefused(why) => why,
            other => return Err(other),
        };
        tracing::warn!(why = %refused, "the model is asked again without the files that it refuses");
        set_remaining_time(deps, turn, request)?;
        let is_found = earlier == 0 && leave_out_refused_files(deps, turn, request, refused).await?;
        if !is_found {
            leave_out_older_half(request);
        }
        set_remaining_time(deps, turn, request)
    }
}

/// The messages whose files would wait if the turn ends before it asks the model.
#[derive(Debug)]
struct UnreadFiles(Vec<Message>);

impl UnreadFiles {
    /// Collects the messages among `newest` whose files may be fetched now.
    fn from_messages(deps: &Deps, newest: &[Message]) -> Self {
        // What the business sent is fetched apart from turns.
        let of_contact = newest.iter().filter(|message| message.out.is_none());
        Self(list_waiting_files(of_contact, deps.system().now()))
    }

    /// Fetches the files and reads their texts after a turn that left the messages to people or for later. People see them,
    /// too.
    async fn fetch_after(self, deps: &Deps, stop: &TurnStop) -> Result<(), TurnStop> {
        let left = matches!(
            stop,
            TurnStop::Ended(TurnEnd::NothingOwed | TurnEnd::Closed { .. } | TurnEnd::NeverOpens)
        );
        let Some(first) = self.0.first().filter(|_| left) else {
            return Ok(());
        };
        if let Some(bound) = find_instance_of(deps, &first.instance, &first.tenant).await? {
            complete_files(deps, &bound, self.0).await;
        }
        Ok(())
    }
}

/// Fetches the files that are not here yet, for a bounded time, at most until `until`. A fetch that fails is tried once more. The turn
/// goes on without files that take longer.
async fn fetch_files(deps: &Deps, turn: &mut LeasedTurn<'_>, until: Timestamp) -> Result<(), TurnStop> {
    let now = deps.system().now();
    let waiting = list_waiting_files(turn.reading.chosen_messages(), now);
    if waiting.is_empty() {
        return Ok(());
    }
    let within = deps.settings().file_wait.min(until.duration_since(now));
    let changed = fetch_files_within(deps, &turn.bound, waiting, within).await;
    let failed = list_failed_fetches(deps, &turn.bound, &changed);
    turn.reading.replace_messages(changed);
    let left = add_duration(now, within).duration_since(deps.system().now());
    if !failed.is_empty() && left > AGAIN_AFTER {
        deps.system().sleep(AGAIN_AFTER.unsigned_abs()).await;
        let left = left.checked_sub(AGAIN_AFTER).unwrap_or_default();
        let changed = fetch_again_within(deps, &turn.bound, failed, left).await;
        turn.reading.replace_messages(changed);
    }
    Ok(())
}

/// Has the texts of the files read that were not read yet, at most until `until`. The turn goes on without those that
/// take longer.
async fn read_files(deps: &Deps, turn: &mut LeasedTurn<'_>, until: Timestamp) -> Result<(), TurnStop> {
    let now = deps.system().now();
    let unread = list_unread_files(turn.reading.chosen_messages(), now);
    if unread.is_empty() {
        return Ok(());
    }
    let changed = read_texts_within(deps, &turn.bound, unread, until.duration_since(now)).await;
    turn.reading.replace_messages(changed);
    Ok(())
}

/// Opens the contact's files that the model sees: the newest that fit. A file that cannot be opened is left out, and one that a model
/// refused is not offered again.
async fn open_shown_files(deps: &Deps, turn: &LeasedTurn<'_>) -> Result<ShownFiles, TurnStop> {
    let is_model = turn.bound.agent.http.is_none();
    let is_refused = |message: &Message| {
        message
            .file
            .as_ref()
            .is_some_and(|file| file.find_file_refusal().is_some())
    };
    let visible: Vec<(&Message, MediaType, usize)> = turn
        .reading
        .chosen_messages()
        .filter(|message| message.role == Role::User && !(is_model && is_refused(message)))
        .filter_map(|message| find_visible_file(message).map(|(found, bytes)| (message, found, bytes)))
        .collect();
    if visible.is_empty() {
        return Ok(ShownFiles::default());
    }
    let sizes: Vec<_> = visible.iter().map(|(_, found, bytes)| (*found, *bytes)).collect();
    let chosen = deps.settings().model_files.choose_visible_files(&sizes);
    let mut shown: ShownFiles = visible
        .iter()
        .zip(chosen)
        .map(|((message, found, _), omitted)| {
            let content = Err(omitted.unwrap_or(FileOmission::NotOpened));
            (message.ordinal, (*found, content))
        })
        .collect();
    if !is_model {
        // An agent that the user runs is told of them, and fetches by the API what it wants.
        return Ok(shown);
    }
    let opens = async {
        for (message, ..) in visible {
            if let Some((_, content @ Err(FileOmission::NotOpened))) = shown.get_mut(&message.ordinal) {
                *content = open_file(deps, message).await;
            }
        }
    };
    let done = run_within(deps.system(), OPEN_TIMEOUT, opens).await;
    if done.is_none() {
        tracing::warn!("files took too long to open: the model is asked without them");
    }
    Ok(shown)
}

/// Returns the type and the size of a message's stored file, if the model sees such files.
fn find_visible_file(message: &Message) -> Option<(MediaType, usize)> {
    let stored = message.file.as_ref()?.stored()?;
    let media_type = MediaType::from_visible_mime_type(&stored.mime_type)?;
    Some((media_type, usize::try_from(stored.bytes).unwrap_or(usize::MAX)))
}

async fn open_file(deps: &Deps, message: &Message) -> Result<Vec<u8>, FileOmission> {
    let key = message.file_key().ok_or(FileOmission::NotOpened)?;
    let opened = match deps.queues().open_file(&key).await {
        Ok(Some(bytes)) => bytes.read_all().await.map_err(|error| error.to_string()),
        Ok(None) => Err("its bytes are not there".to_owned()),
        Err(error) => Err(format_error_chain(&error)),
    };
    opened.map_err(|error| {
        tracing::warn!(message_id = %message.message_id(), %error, "a file is not shown to the model");
        FileOmission::NotOpened
    })
}

/// Leaves the files out that the model does not open, as far as their bytes tell.
async fn leave_out_unopened_files(deps: &Deps, turn: &mut LeasedTurn<'_>, request: &mut LlmRequest) {
    let unopened = deps.llm().find_unopened_files(request);
    for (ordinal, why) in &unopened {
        request.omit_shown_files(&[*ordinal], *why);
    }
    let refused = unopened
        .into_iter()
        .filter_map(|(ordinal, why)| Some((ordinal, why.as_lasting_refusal()?)));
    note_refusals(deps, turn, refused.collect()).await;
}

fn set_remaining_time(deps: &Deps, turn: &LeasedTurn<'_>, request: &mut LlmRequest) -> Result<(), LlmError> {
    let left = turn
        .time
        .left_for_model(deps.system().now(), deps.settings().llm_timeout);
    let left =
        left.ok_or_else(|| LlmError::Unavailable("no time was left to ask without some files".to_owned()));
    left.map(|left| request.within = left)
}

/// Leaves out the files that the model refuses, and those that could not be tried. Returns `false` if there are none.
async fn leave_out_refused_files(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    request: &mut LlmRequest,
    why: String,
) -> Result<bool, LlmError> {
    let found = deps.llm().find_refused_files(request).await;
    let found = found.ok_or(LlmError::Refused(why))?;
    turn.asked.extend(found.used);
    request.omit_shown_files(&found.refused, FileOmission::Refused);
    request.omit_shown_files(&found.untested, FileOmission::Suspect);
    let is_found = !(found.refused.is_empty() && found.untested.is_empty());
    let refused = found
        .refused
        .into_iter()
        .map(|ordinal| (ordinal, FileRefusal::ByModel));
    note_refusals(deps, turn, refused.collect()).await;
    Ok(is_found)
}

fn leave_out_older_half(request: &mut LlmRequest) {
    let shown: Vec<Ordinal> = request.list_shown_files().map(|file| file.ordinal).collect();
    request.omit_shown_files(&shown[..shown.len().div_ceil(2)], FileOmission::Older);
}

/// Notes in the records of messages that their files are shown to no model again. Where that fails, they are offered once more.
async fn note_refusals(deps: &Deps, turn: &mut LeasedTurn<'_>, refused: Vec<(Ordinal, FileRefusal)>) {
    let mut changed = Vec::new();
    for (ordinal, why) in refused {
        let known = turn.reading.known_messages().iter();
        let Some(message) = known
            .into_iter()
            .find(|message| message.ordinal == ordinal)
            .cloned()
        else {
            continue;
        };
        let id = message.message_id();
        match change_file_record(deps, message, |file| file.record_refusal(why)).await {
            Ok(written) => {
                tracing::info!(message_id = %id, ?why, "a file is shown to no model again");
                changed.extend(written.into_written());
            }
            Err(error) => tracing::warn!(message_id = %id, %error, "a refused file is offered once more"),
        }
    }
    if !changed.is_empty() {
        turn.reading.replace_messages(changed);
    }
}
