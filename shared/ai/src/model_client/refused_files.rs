//! Finds the files that a model does not take: by their bytes before a request, and by small requests after one was refused.

use super::{ModelClient, time_left};
use recado_domain::Timestamp;
use recado_domain::ids::Ordinal;
use recado_domain::millis::add_millis;
use recado_domain::model_files::{FileOmission, ProviderFileLimits};
use recado_domain::secret::Secret;
use recado_domain::usage::ModelUse;
use recado_ports::ports::{ChatFile, ChatTurn, LlmRequest, RefusedFiles, Secrets, Speaker, System};

/// Most requests of one search. One refused file among twenty needs at most eleven.
const REQUESTS_MAX: usize = 16;

/// The text of these requests, and the length of the answer. Some models refuse a smaller number.
const QUESTION: &str = "Answer with OK.";
const ANSWER_TOKENS_MAX: u32 = 16;

/// Lists the files of a request that the provider does not open, by its limits.
pub(super) fn list_unopened_files(
    limits: &ProviderFileLimits,
    request: &LlmRequest,
) -> Vec<(Ordinal, FileOmission)> {
    let pictures = request
        .list_shown_files()
        .filter(|file| file.media_type.is_image())
        .count();
    let explain = |file: &ChatFile| {
        let bytes = file.content.as_ref().ok()?;
        let why = limits.explain_refusal(file.media_type, bytes, pictures)?;
        Some((file.ordinal, why))
    };
    request.list_shown_files().filter_map(explain).collect()
}

/// The answer of a model to a request with some files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileAnswer {
    Accepted,
    Refused,
    /// No answer came, or there is no time or no request left.
    Unclear,
}

struct FileSearch<'a, S, A> {
    client: &'a ModelClient<S, A>,
    request: &'a LlmRequest,
    key: Option<Secret>,
    until: Timestamp,
    requests_left: usize,
    found: RefusedFiles,
}

impl<S: Secrets, A: System> ModelClient<S, A> {
    /// Finds the files for which a request was refused. Their number is halved with each request. `None`: a request without files is
    /// refused, too.
    pub(super) async fn search_refused_files(&self, request: &LlmRequest) -> Option<RefusedFiles> {
        let reference = request.key.clone().or_else(|| self.settings.key.clone());
        let within = i64::try_from(request.within.as_millis() / 2).unwrap_or(i64::MAX);
        let mut search = FileSearch {
            client: self,
            request,
            key: self.resolve_key(reference.as_ref()).await.ok()?,
            until: add_millis(self.system.now(), within),
            requests_left: REQUESTS_MAX,
            found: RefusedFiles::default(),
        };
        // Without this, a refusal for another reason, such as an account without credit, would exclude every file.
        if search.ask_with_files(&[]).await == FileAnswer::Refused {
            return None;
        }
        let files: Vec<&ChatFile> = request.list_shown_files().collect();
        search.try_file_groups(&files).await;
        Some(search.found)
    }
}

impl<S: Secrets, A: System> FileSearch<'_, S, A> {
    /// Tries the files in groups, the newest first, and halves those that are refused until each refused file is alone.
    async fn try_file_groups(&mut self, all: &[&ChatFile]) {
        // All together were refused before.
        let mut groups = if all.len() > 1 {
            split_in_halves(all).to_vec()
        } else {
            vec![all]
        };
        while let Some(group) = groups.pop() {
            match (self.ask_with_files(group).await, group) {
                (FileAnswer::Accepted, _) => {}
                (FileAnswer::Refused, [file]) => self.found.refused.push(file.ordinal),
                (FileAnswer::Refused, _) => groups.extend(split_in_halves(group)),
                (FileAnswer::Unclear, _) => {
                    let untested = group.iter().map(|file| file.ordinal);
                    self.found.untested.extend(untested);
                }
            }
        }
    }

    /// Asks the model with these files and nothing else.
    async fn ask_with_files(&mut self, files: &[&ChatFile]) -> FileAnswer {
        let left = time_left(self.client.system.now(), self.until);
        if self.requests_left == 0 || left.is_zero() {
            return FileAnswer::Unclear;
        }
        self.requests_left -= 1;
        let question = ChatTurn {
            files: files.iter().map(|file| (*file).clone()).collect(),
            ..ChatTurn::from_text(Speaker::User, QUESTION)
        };
        let request = LlmRequest {
            model: self.request.model.clone(),
            key: self.request.key.clone(),
            turns: vec![question],
            max_tokens: ANSWER_TOKENS_MAX,
            within: left,
            ..LlmRequest::default()
        };
        let at_most = left.min(self.client.settings.attempt_timeout);
        let asked = self.client.attempt_request(&request, self.key.as_ref(), at_most);
        match asked.await {
            Ok(reply) => {
                self.found.used.push(ModelUse {
                    model: reply.model,
                    tokens: reply.usage,
                });
                FileAnswer::Accepted
            }
            Err(failure) if failure.may_be_for_files() => FileAnswer::Refused,
            // The files were read: there is only nothing to say about them.
            Err(failure) if failure.has_said_nothing() => FileAnswer::Accepted,
            Err(failure) => {
                tracing::warn!(failure = %failure, "the model did not say whether it takes files");
                self.requests_left = 0;
                FileAnswer::Unclear
            }
        }
    }
}

/// Splits a group into the older and the newer half.
fn split_in_halves<'a, 'b>(files: &'a [&'b ChatFile]) -> [&'a [&'b ChatFile]; 2] {
    let (older, newer) = files.split_at(files.len() / 2);
    [older, newer]
}
