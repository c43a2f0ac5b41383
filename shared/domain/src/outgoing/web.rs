//! Where a file that is to be sent may lie.

/// What stands before the id of an upload, as the source of a file.
pub const UPLOAD: &str = "upload:";

/// The longest address, in bytes.
const ADDRESS_MAX: usize = 2048;

/// Whether `text` is an `https` URL, or an `http` one of this machine: a provider that runs beside us may fetch from
/// there, and nothing else may be read on its way.
pub fn is_web_address(text: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control();
    if text.len() > ADDRESS_MAX || !text.chars().all(plain) {
        return false;
    }
    let (host, here_only) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => (host_of(rest), false),
        (None, Some(rest)) => (host_of(rest), true),
        (None, None) => return false,
    };
    match host {
        None => false,
        Some(host) if here_only => matches!(host, "localhost" | "127.0.0.1" | "[::1]"),
        Some(_) => true,
    }
}

/// The host, without its port. `None` if there is none, or if a name and password stand before it: a provider would be
/// shown them, and `http://localhost@elsewhere` is elsewhere.
fn host_of(rest: &str) -> Option<&str> {
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    if authority.contains('@') {
        return None;
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    };
    (!host.is_empty()).then_some(host)
}

/// What follows [`UPLOAD`], where it can be an upload's id: 32 hexadecimal digits.
pub(super) fn is_upload(text: &str) -> bool {
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    text.strip_prefix(UPLOAD)
        .is_some_and(|id| id.len() == 32 && id.chars().all(hex))
}
