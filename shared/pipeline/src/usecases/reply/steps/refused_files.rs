//! Asks the model without the files that it does not take. Each of them is noted in the record of its message, so that it is shown to
//! no model again; the others are shown.

use crate::Deps;
use crate::steps::file_record::change_file_record;
use crate::usecases::reply::leased_turn::LeasedTurn;
use crate::usecases::reply::steps::fallback_model::ask_models;
use recado_domain::ids::Ordinal;
use recado_domain::model_files::{FileOmission, FileRefusal};
use recado_ports::ports::{LlmError, LlmReply, LlmRequest};

/// Leaves the files out that the model does not open, as far as their bytes tell.
pub(in crate::usecases::reply) async fn leave_out_unopened_files(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    request: &mut LlmRequest,
) {
    let unopened = deps.llm().find_unopened_files(request);
    for (ordinal, why) in &unopened {
        request.omit_shown_files(&[*ordinal], *why);
    }
    let refused = unopened
        .into_iter()
        .filter_map(|(ordinal, why)| Some((ordinal, why.as_lasting_refusal()?)));
    note_refusals(deps, turn, refused.collect()).await;
}

/// Asks the model. If it refuses the request for its files, those for which it does are looked for, once, and it is asked again without
/// them. Where none is found by itself, there are too many together: the older half is left out until it answers.
pub(in crate::usecases::reply) async fn ask_without_refused_files(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    request: &mut LlmRequest,
) -> Result<LlmReply, LlmError> {
    let mut is_searched = false;
    loop {
        let refused = match ask_models(deps, &turn.bound, request).await {
            Err(LlmError::FilesRefused(why)) => why,
            answered => return answered,
        };
        tracing::warn!(why = %refused, "the model is asked again without the files that it refuses");
        set_remaining_time(deps, turn, request)?;
        let is_found = !is_searched && leave_out_refused_files(deps, turn, request, refused).await?;
        is_searched = true;
        if !is_found {
            leave_out_older_half(request);
        }
        set_remaining_time(deps, turn, request)?;
    }
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
