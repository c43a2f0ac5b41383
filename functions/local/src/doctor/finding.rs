use serde::Serialize;
use std::fmt;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Grade {
    /// It is as it should be.
    Good,
    /// It works, but whoever looks should know.
    Note,
    /// It does not work.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// Of which instance; `-` for the installation.
    pub(super) instance: String,
    /// What was looked at.
    pub(super) check: &'static str,
    /// How it is.
    pub(super) grade: Grade,
    /// What was found.
    pub(super) found: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mend: Option<String>,
}

impl Finding {
    fn new(instance: &str, check: &'static str, grade: Grade, found: impl Into<String>) -> Self {
        Self {
            instance: instance.to_owned(),
            check,
            grade,
            found: found.into(),
            mend: None,
        }
    }

    /// All is well.
    pub(super) fn good(instance: &str, check: &'static str, found: impl Into<String>) -> Self {
        Self::new(instance, check, Grade::Good, found)
    }

    /// Worth knowing.
    pub(super) fn note(instance: &str, check: &'static str, found: impl Into<String>) -> Self {
        Self::new(instance, check, Grade::Note, found)
    }

    /// To be mended.
    pub(super) fn broken(instance: &str, check: &'static str, found: impl Into<String>) -> Self {
        Self::new(instance, check, Grade::Broken, found)
    }

    /// With how to mend it.
    pub(super) fn mend(mut self, how: impl Into<String>) -> Self {
        self.mend = Some(how.into());
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.grade {
            Grade::Good => "ok  ",
            Grade::Note => "note",
            Grade::Broken => "BAD ",
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
