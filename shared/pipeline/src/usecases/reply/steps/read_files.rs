//! The steps [`recado_domain::turn::TurnStep::FileTexts`] and [`recado_domain::turn::TurnStep::ShownFiles`]: have the texts
//! of files read, and open the files that the model sees.

use crate::Deps;
use crate::steps::file_reading::{list_unread_files, read_texts_within};
use crate::steps::queue_message::format_error_chain;
use crate::usecases::reply::leased_turn::LeasedTurn;
use crate::usecases::reply::transcript::ShownFiles;
use crate::usecases::reply::turn_end::TurnStop;
use jiff::Timestamp;
use recado_domain::media_type::MediaType;
use recado_domain::message::{Message, Role};
use recado_domain::model_files::FileOmission;
use recado_ports::time_limit::run_within;
use std::time::Duration;

/// Maximum time to open the files that the model sees.
const OPEN_TIMEOUT: Duration = Duration::from_secs(4);

/// Has the texts of the files read that were not read yet, at most until `until`. The turn goes on without those that
/// take longer.
pub(in crate::usecases::reply) async fn read_files(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    until: Timestamp,
) -> Result<(), TurnStop> {
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
pub(in crate::usecases::reply) async fn open_shown_files(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
) -> Result<ShownFiles, TurnStop> {
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
