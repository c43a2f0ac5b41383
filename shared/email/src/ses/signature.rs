//! Signature Version 4 of AWS for requests without a query
//! (<https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html>).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recado_domain::secret::{Secret, hmac_sha256};
use sha2::{Digest, Sha256};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "ses";
const CONTENT_TYPE: &str = "application/json";

/// A key of AWS: its id, its secret and, if it is temporary, its token.
pub(crate) struct AccessKey<'a> {
    id: &'a str,
    secret: &'a str,
    token: Option<&'a str>,
}

impl<'a> AccessKey<'a> {
    /// Reads `{access key id}:{secret access key}`, of a temporary key with `:{session token}`.
    pub(crate) fn parse(credential: &'a Secret) -> Option<Self> {
        let mut parts = credential.expose_secret().splitn(3, ':').map(str::trim);
        let (id, secret, token) = (parts.next()?, parts.next()?, parts.next());
        let is_id = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric());
        let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        let is_fine = is_id && is_plain(secret) && token.is_none_or(is_plain);
        is_fine.then_some(Self { id, secret, token })
    }
}

/// The parts of a request that its signature covers. Every request names its body's type, JSON.
pub(crate) struct SignedRequest<'a> {
    pub(crate) method: &'a str,
    /// Host, as the header has it.
    pub(crate) host: &'a str,
    /// Path, of characters that need no escaping.
    pub(crate) path: &'a str,
    pub(crate) body: &'a [u8],
}

/// Signs a request. Returns the headers that carry the signature.
pub(crate) fn sign_request(
    key: &AccessKey<'_>,
    region: &str,
    now: Timestamp,
    request: &SignedRequest<'_>,
) -> Vec<(&'static str, String)> {
    let time = now.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string();
    let day = &time[..8];
    let mut headers = vec![
        ("content-type", CONTENT_TYPE.to_owned()),
        ("host", request.host.to_owned()),
        ("x-amz-date", time.clone()),
    ];
    if let Some(token) = key.token {
        headers.push(("x-amz-security-token", token.to_owned()));
    }
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}:{value}\n"))
        .collect();
    let canonical = format!(
        "{}\n{}\n\n{}\n{names}\n{}",
        request.method,
        request.path,
        lines.concat(),
        hash_with_sha256(request.body)
    );
    let scope = format!("{day}/{region}/{SERVICE}/aws4_request");
    let to_sign = format!(
        "{ALGORITHM}\n{time}\n{scope}\n{}",
        hash_with_sha256(canonical.as_bytes())
    );
    let first = format!("AWS4{}", key.secret);
    let of_day = hmac_sha256(first.as_bytes(), day.as_bytes());
    let of_region = hmac_sha256(&of_day, region.as_bytes());
    let of_service = hmac_sha256(&of_region, SERVICE.as_bytes());
    let signing_key = hmac_sha256(&of_service, b"aws4_request");
    let signature = hex::encode(hmac_sha256(&signing_key, to_sign.as_bytes()));
    let authorization = format!(
        "{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        key.id
    );
    // The client sets the host and the type itself.
    headers.retain(|(name, _)| name.starts_with("x-amz-"));
    headers.push(("authorization", authorization));
    headers
}

fn hash_with_sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
