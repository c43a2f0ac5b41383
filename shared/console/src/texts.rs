//! The texts of the pages in each language.

use crate::page_request::{LANGUAGE_COOKIE, PageLanguage};
use crate::page_response::redirect_to_page;
use axum::Form;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The texts of one language by their keys. `{name}` in a text is a place for a value.
pub(crate) type LanguageTexts = BTreeMap<String, String>;

/// Reads the texts of all languages.
pub(crate) fn load_language_texts() -> Result<BTreeMap<&'static str, LanguageTexts>, serde_json::Error> {
    let sources = [
        (PageLanguage::English, include_str!("../languages/en.json")),
        (PageLanguage::Portuguese, include_str!("../languages/pt.json")),
        (PageLanguage::Spanish, include_str!("../languages/es.json")),
    ];
    let read = sources
        .into_iter()
        .map(|(language, source)| Ok((language.code(), serde_json::from_str(source)?)));
    read.collect()
}

/// The language that a person chooses, and the page on which it was chosen.
#[derive(Debug, Deserialize)]
pub(crate) struct LanguageChoice {
    language: String,
}

/// Keeps the chosen language in a cookie for a year, and leads back to the page.
pub(crate) async fn choose_language(headers: HeaderMap, Form(choice): Form<LanguageChoice>) -> Response {
    let referer = headers.get(header::REFERER).and_then(|value| value.to_str().ok());
    let path = referer.and_then(|page| page.find("/console").map(|at| &page[at..]));
    let mut response = redirect_to_page(path.unwrap_or("/console"));
    let code = PageLanguage::parse(&choice.language)
        .unwrap_or(PageLanguage::English)
        .code();
    let cookie =
        format!("{LANGUAGE_COOKIE}={code}; Path=/console; HttpOnly; SameSite=Strict; Max-Age=31536000");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
