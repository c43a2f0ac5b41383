use crate::admin_request::AdminRequestError;
use jiff::Timestamp;
use recado_domain::secret::Secret;
use serde::Serialize;
use std::fmt;

/// Largest accepted difference between a provider's clock and this machine's, in seconds. Evolution's tokens are valid
/// for 10 minutes, and a message older than an hour is not answered.
const CLOCK_SECONDS: i64 = 60;

/// The severity of a check's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Correct.
    Good,
    /// Working, but people should know about it.
    Note,
    /// Not working.
    Broken,
}

/// The result of one check.
#[derive(Debug, Clone, Serialize)]
pub struct CheckResult {
    /// Instance that was checked; `-` for the installation itself.
    pub instance: String,
    /// Name of the check.
    pub check: &'static str,
    /// Severity of the result.
    pub grade: Severity,
    /// Description of the result.
    pub found: String,
    /// Advice on how to fix a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
    /// Content of the QR code with which a phone is paired. Anyone who has it can pair a phone: it is shown, and never
    /// recorded.
    #[serde(skip)]
    pub pairing: Option<Secret>,
}

impl CheckResult {
    fn new(instance: &str, check: &'static str, grade: Severity, found: impl Into<String>) -> Self {
        Self {
            instance: instance.to_owned(),
            check,
            grade,
            found: found.into(),
            mend: None,
            pairing: None,
        }
    }

    /// Builds the result of a check that passed.
    pub fn check_passed(instance: &str, check: &'static str, found: impl Into<String>) -> Self {
        Self::new(instance, check, Severity::Good, found)
    }

    /// Builds the result of a check that found something to know.
    pub fn check_noted(instance: &str, check: &'static str, found: impl Into<String>) -> Self {
        Self::new(instance, check, Severity::Note, found)
    }

    /// Builds the result of a check that failed.
    pub fn check_failed(instance: &str, check: &'static str, found: impl Into<String>) -> Self {
        Self::new(instance, check, Severity::Broken, found)
    }

    /// Adds advice on how to fix the problem.
    #[must_use]
    pub fn with_fix(mut self, how: impl Into<String>) -> Self {
        self.mend = Some(how.into());
        self
    }

    /// Adds the content of the QR code that pairs a phone.
    #[must_use]
    pub(crate) fn with_pairing_code(mut self, code: Option<Secret>) -> Self {
        self.pairing = code;
        self
    }
}

impl fmt::Display for CheckResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.grade {
            Severity::Good => "ok  ",
            Severity::Note => "note",
            Severity::Broken => "BAD ",
        };
        write!(
            f,
            "{mark}  {:<16} {:<11} {}",
            self.instance, self.check, self.found
        )?;
        match &self.mend {
            Some(mend) => write!(f, "\n      {:<16} {:<11} → {mend}", "", ""),
            None => Ok(()),
        }
    }
}

/// Advice to people where a provider does not answer as it should, for each kind of error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefusalAdvice {
    /// The key was refused.
    pub(crate) key: &'static str,
    /// The check that fails where nothing is known of the number, and the advice.
    pub(crate) not_found: (&'static str, &'static str),
    /// The provider refused for another reason.
    pub(crate) refused: &'static str,
    /// The provider cannot be reached, or fails.
    pub(crate) unreachable: &'static str,
}

impl RefusalAdvice {
    /// Builds the result of a check to which the provider answered with this error.
    pub(crate) fn explain(&self, instance: &str, error: &AdminRequestError) -> CheckResult {
        let (check, mend) = match error {
            AdminRequestError::Refused { .. } => ("credential", self.key),
            AdminRequestError::NotFound { .. } => self.not_found,
            AdminRequestError::Failed {
                status: 400..=499, ..
            } => ("provider", self.refused),
            AdminRequestError::NotUrl
            | AdminRequestError::Unreachable { .. }
            | AdminRequestError::Failed { .. } => ("provider", self.unreachable),
        };
        CheckResult::check_failed(instance, check, error.to_string()).with_fix(mend)
    }
}

/// Compares this machine's clock with the provider's.
pub(crate) fn check_clock(name: &str, now: Timestamp, date: Option<Timestamp>) -> CheckResult {
    let Some(date) = date else {
        return CheckResult::check_noted(name, "clock", "the provider does not tell its time");
    };
    let ahead = now.as_second() - date.as_second();
    match ahead.abs() {
        0..=CLOCK_SECONDS => CheckResult::check_passed(name, "clock", format!("within {} s", ahead.abs())),
        apart => {
            let which = if ahead > 0 { "ahead of" } else { "behind" };
            CheckResult::check_failed(
                name,
                "clock",
                format!("this machine is {apart} s {which} the provider"),
            )
            .with_fix("set the clock of whichever is wrong (NTP)")
        }
    }
}
