//! The scripts, the style and the icon of the pages, which are part of the binary.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// A file that pages load.
struct Asset {
    name: &'static str,
    mime_type: &'static str,
    text: &'static str,
}

const ASSETS: &[Asset] = &[
    Asset {
        name: "htmx.js",
        mime_type: "text/javascript; charset=utf-8",
        text: include_str!("../assets/htmx.min.js"),
    },
    Asset {
        name: "console.js",
        mime_type: "text/javascript; charset=utf-8",
        text: include_str!("../assets/console.js"),
    },
    Asset {
        name: "live.js",
        mime_type: "text/javascript; charset=utf-8",
        text: include_str!("../assets/live.js"),
    },
    Asset {
        name: "answering.js",
        mime_type: "text/javascript; charset=utf-8",
        text: include_str!("../assets/answering.js"),
    },
    Asset {
        name: "notices.js",
        mime_type: "text/javascript; charset=utf-8",
        text: include_str!("../assets/notices.js"),
    },
    Asset {
        name: "console.css",
        mime_type: "text/css; charset=utf-8",
        text: include_str!("../assets/console.css"),
    },
    Asset {
        name: "icon.svg",
        mime_type: "image/svg+xml",
        text: include_str!("../assets/icon.svg"),
    },
];

/// Returns a file. The browser keeps it for a day and asks by its tag then; pages name files with `?v=` of this version.
pub(crate) async fn get_asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
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
    (kept, [(header::CONTENT_TYPE, asset.mime_type)], asset.text).into_response()
}
