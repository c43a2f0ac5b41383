//! The scripts, the style and the icon of the pages, which are part of the binary.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The files that pages load: name, media type, text.
const ASSETS: [(&str, &str, &str); 7] = [
    ("htmx.js", SCRIPT, include_str!("../assets/htmx.min.js")),
    ("console.js", SCRIPT, include_str!("../assets/console.js")),
    ("live.js", SCRIPT, include_str!("../assets/live.js")),
    ("answering.js", SCRIPT, include_str!("../assets/answering.js")),
    ("notices.js", SCRIPT, include_str!("../assets/notices.js")),
    (
        "console.css",
        "text/css; charset=utf-8",
        include_str!("../assets/console.css"),
    ),
    ("icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
];

/// The media type of scripts.
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Returns a file. The browser keeps it for a day and asks by its tag then; pages name files with `?v=` of this version.
pub(crate) async fn get_asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some((_, kind, text)) = ASSETS.into_iter().find(|(known, ..)| *known == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let tag = HeaderValue::from_static(concat!("\"", env!("CARGO_PKG_VERSION"), "\""));
    let kept = [
        (
            header::CACHE_CONTROL,
            HeaderValue::from_static("private, max-age=86400"),
        ),
        (header::ETAG, tag.clone()),
    ];
    if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
        return (StatusCode::NOT_MODIFIED, kept).into_response();
    }
    (kept, [(header::CONTENT_TYPE, kind)], text).into_response()
}
