//! Reads environment variables, in the same way on one machine and on AWS.

use super::legacy_names::IGNORED_VARIABLES;
use jiff::SignedDuration;
use recado_domain::config::ALERT_VARIABLE_PREFIX;
use recado_domain::secret::Secret;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Display;
use std::str::FromStr;

/// A setting whose value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {what}")]
pub struct SettingError {
    /// Name of the environment variable.
    pub name: String,
    /// Description of the problem.
    pub what: String,
}

/// The environment variables, the names that were read, and the problems that were found.
///
/// An empty variable counts as not set. A value that cannot be used leaves the default and adds a problem, so that all
/// problems can be corrected together.
#[derive(Debug, Default)]
pub struct VariableReader {
    variables: BTreeMap<String, String>,
    known: BTreeSet<String>,
    problems: Vec<SettingError>,
}

impl VariableReader {
    /// Creates a reader of the variables of the process. Variables that are not UTF-8 are left out.
    pub fn new<N: Into<OsString>, V: Into<OsString>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let texts = variables.into_iter().filter_map(|(name, value)| {
            let value = value.into().into_string().ok()?.trim().to_owned();
            let name = name.into().into_string().ok()?;
            (!value.is_empty()).then_some((name, value))
        });
        Self {
            variables: texts.collect(),
            ..Self::default()
        }
    }

    /// Declares names that are read elsewhere, so that [`Self::list_warnings`] knows them.
    pub fn add_known_names(&mut self, names: &[&str]) {
        self.known.extend(names.iter().map(|name| (*name).to_owned()));
    }

    /// Returns the names that were read or declared.
    pub fn known_names(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(String::as_str)
    }

    /// Returns the text of a variable.
    pub fn read_text(&mut self, name: &str) -> Option<String> {
        self.add_known_names(&[name]);
        self.variables.get(name).cloned()
    }

    /// Returns the first variable of `names` that is set, with its text.
    pub(super) fn find_text<'n>(&mut self, names: &[&'n str]) -> Option<(&'n str, String)> {
        self.add_known_names(names);
        let found = |name: &&'n str| Some((*name, self.variables.get(*name)?.clone()));
        names.iter().find_map(found)
    }

    /// Adds a problem with the variable `name`, unless it is known: some variables are read for several uses.
    pub fn add_problem(&mut self, name: &str, what: impl Into<String>) {
        let problem = SettingError {
            name: name.to_owned(),
            what: what.into(),
        };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Parses a variable with `parse`; returns `default` if it is not set. If `parse` returns `None`, the problem `what`
    /// is added and `default` returned.
    pub fn read_parsed<T>(
        &mut self,
        name: &str,
        default: T,
        what: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> T {
        let Some(text) = self.read_text(name) else {
            return default;
        };
        parse(&text).unwrap_or_else(|| {
            self.add_problem(name, what);
            default
        })
    }

    /// Returns the text of a variable that must be set. If it is not, a problem is added.
    pub fn read_required(&mut self, name: &str) -> Option<String> {
        let text = self.read_text(name);
        if text.is_none() {
            self.add_problem(name, "is not set");
        }
        text
    }

    /// Returns the secret in a variable.
    pub fn read_secret(&mut self, name: &str) -> Option<Secret> {
        self.read_text(name).as_deref().and_then(Secret::new)
    }

    /// Returns a base URL, without the slash at its end.
    pub fn read_base_url(&mut self, name: &str) -> Option<String> {
        let what = "must begin with http:// or https://, and hold no ? and no #";
        self.read_parsed(name, None, what, |url| {
            let http = url.starts_with("http://") || url.starts_with("https://");
            let is_base = http && !url.contains(['?', '#']);
            is_base.then(|| Some(url.trim_end_matches('/').to_owned()))
        })
    }

    /// Returns the value of a variable that is `true` or `false`.
    pub fn read_bool(&mut self, name: &str, default: bool) -> bool {
        self.read_parsed(name, default, "must be true or false", |text| text.parse().ok())
    }

    /// Reads `RECADO_SIMULATION`. `auto` (`true`): an instance without a credential is simulated, its model as well.
    /// `off` (`false`): nothing is. `None` if it is not set.
    pub fn read_simulation(&mut self) -> Option<bool> {
        let what = "must be auto or off";
        self.read_parsed("RECADO_SIMULATION", None, what, |text| match text {
            "auto" => Some(Some(true)),
            "off" => Some(Some(false)),
            _ => None,
        })
    }

    /// Returns the number in the first variable of `names` that is set, which must be within `range`.
    pub fn read_number<T>(&mut self, names: &[&str], range: (T, T), default: T) -> T
    where
        T: FromStr + PartialOrd + Copy + Display,
    {
        let Some((name, text)) = self.find_text(names) else {
            return default;
        };
        let (least, most) = range;
        match text.parse::<T>() {
            Ok(number) if number >= least && number <= most => number,
            _ => {
                self.add_problem(name, format!("must be a number from {least} to {most}"));
                default
            }
        }
    }

    /// Returns a time that is given in units of `unit` seconds and must be within `range`.
    pub fn read_duration(
        &mut self,
        names: &[&str],
        unit: f64,
        range: (f64, f64),
        default: SignedDuration,
    ) -> SignedDuration {
        let units = self.read_number(names, range, default.as_secs_f64() / unit);
        SignedDuration::from_secs_f64(units * unit)
    }

    /// Changes a time to that of the variable `name`, if it is set. It is given as [`Self::read_duration`] says.
    pub fn change_duration(&mut self, name: &str, unit: f64, range: (f64, f64), time: &mut SignedDuration) {
        *time = self.read_duration(&[name], unit, range, *time);
    }

    /// Returns warnings about variables that are set and have no effect, each with its name and the reason: names of an
    /// earlier worker, and names that begin with `RECADO_` and were neither read nor declared. Call it after the last
    /// read. The caller logs the warnings at start.
    pub fn list_warnings(&self) -> Vec<(&str, String)> {
        let is_set = |(name, _): &(&str, &str)| self.variables.contains_key(*name);
        let ignored = IGNORED_VARIABLES.into_iter().filter(is_set);
        let ignored = ignored.map(|(name, why)| (name, why.to_owned()));
        let is_unknown = |name: &&str| {
            let is_credential =
                name.starts_with("RECADO_CREDENTIAL_") || name.starts_with(ALERT_VARIABLE_PREFIX);
            name.starts_with("RECADO_") && !is_credential && !self.known.contains(*name)
        };
        let unknown = self.variables.keys().map(String::as_str).filter(is_unknown);
        let unknown = unknown.map(|name| {
            let nearest = self.find_nearest_name(name).unwrap_or_default();
            (
                name,
                format!("there is no such setting; the nearest is {nearest}"),
            )
        });
        ignored.chain(unknown).collect()
    }

    fn find_nearest_name(&self, name: &str) -> Option<&str> {
        self.known_names()
            .min_by_key(|known| strsim::osa_distance(known, name))
    }

    /// Returns the problems that were found.
    pub fn into_problems(self) -> Vec<SettingError> {
        self.problems
    }
}
