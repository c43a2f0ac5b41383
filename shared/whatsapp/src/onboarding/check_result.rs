use jiff::Timestamp;
use recado_domain::secret::Secret;
use serde::Serialize;
use std::fmt;

/// How far a provider's clock may be from ours, in seconds: Evolution's tokens live for 10 minutes, and what is older
/// than an hour is not answered.
const CLOCK_SECONDS: i64 = 60;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It is as it should be.
    Good,
    /// It works, but whoever looks should know.
    Note,
    /// It does not work.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct CheckResult {
    /// Of which instance; `-` for the installation.
    pub instance: String,
    /// What was looked at.
    pub check: &'static str,
    /// How it is.
    pub grade: Severity,
    /// What was found.
    pub found: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
    /// What a QR code is to say by which a phone is paired. Who has it can pair a phone: it is shown, and goes into no
    /// record.
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

    /// All is well.
    pub fn check_passed(instance: &str, check: &'static str, found: impl Into<String>) -> Self {
        Self::new(instance, check, Severity::Good, found)
    }

    /// Worth knowing.
    pub fn check_noted(instance: &str, check: &'static str, found: impl Into<String>) -> Self {
        Self::new(instance, check, Severity::Note, found)
    }

    /// To be mended.
    pub fn check_failed(instance: &str, check: &'static str, found: impl Into<String>) -> Self {
        Self::new(instance, check, Severity::Broken, found)
    }

    /// With how to mend it.
    #[must_use]
    pub fn with_fix(mut self, how: impl Into<String>) -> Self {
        self.mend = Some(how.into());
        self
    }

    /// With what pairs a phone.
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

/// What the provider's clock says of ours.
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
