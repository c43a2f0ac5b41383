//! Reads a request for a page: the parameters of its path and query, and the language.

use crate::day_lines::{read_day_begin, read_day_end};
use crate::session::read_cookie;
use axum::http::{HeaderMap, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeMap;

/// The name of the cookie with the chosen language.
pub(crate) const LANGUAGE_COOKIE: &str = "recado_language";

/// A language of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PageLanguage {
    English,
    Portuguese,
    Spanish,
}

impl PageLanguage {
    /// All languages, the first of which is shown to those who name none of them.
    pub(crate) const ALL: [Self; 3] = [Self::English, Self::Portuguese, Self::Spanish];

    /// Returns the code of the language, as in `lang` of HTML.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Portuguese => "pt",
            Self::Spanish => "es",
        }
    }

    /// Finds a language by the first part of its tag: `pt-BR` is Portuguese.
    pub(crate) fn parse(tag: &str) -> Option<Self> {
        let code = tag.trim().split(['-', ';']).next()?.to_ascii_lowercase();
        Self::ALL.into_iter().find(|language| language.code() == code)
    }

    /// Returns the language that the person chose, else the first one that the browser names and that there is.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let accepted = headers
            .get(header::ACCEPT_LANGUAGE)
            .and_then(|value| value.to_str().ok());
        read_cookie(headers, LANGUAGE_COOKIE)
            .and_then(Self::parse)
            .or_else(|| accepted?.split(',').find_map(Self::parse))
            .unwrap_or(Self::English)
    }
}

/// Fills the places of a request's path: `{name}` by a parameter of the page's path, `{?a,b}` by those of these parameters of
/// the page's query that are not empty. `a:begin` and `a:end` are the times at which the day in `a` begins and ends. Returns
/// `None` if the page's path lacks a parameter.
pub(crate) fn fill_request_path(
    pattern: &str,
    params: &BTreeMap<String, String>,
    query: &BTreeMap<String, String>,
) -> Option<String> {
    let mut filled = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (place, after) = after.split_once('}')?;
        rest = after;
        let Some(names) = place.strip_prefix('?') else {
            let value = utf8_percent_encode(params.get(place)?, NON_ALPHANUMERIC);
            filled.extend(value);
            continue;
        };
        for name in names.split(',') {
            let (name, kind) = name.split_once(':').unwrap_or((name, ""));
            let Some(value) = query.get(name).filter(|value| !value.is_empty()) else {
                continue;
            };
            let time = match kind {
                "begin" => read_day_begin(value),
                "end" => read_day_end(value),
                _ => None,
            };
            filled.push(if filled.contains('?') { '&' } else { '?' });
            filled.push_str(name);
            filled.push('=');
            filled.extend(utf8_percent_encode(
                time.as_ref().unwrap_or(value),
                NON_ALPHANUMERIC,
            ));
        }
    }
    filled.push_str(rest);
    Some(filled)
}
