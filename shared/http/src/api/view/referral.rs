//! The advertisement or post that led a person to write.

use recado_domain::context::Referral;
use serde::Serialize;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct ReferralView {
    /// `ad` or `post`.
    kind: Option<String>,
    id: Option<String>,
    url: Option<String>,
    headline: Option<String>,
    body: Option<String>,
    /// Meta's id of the click.
    click: Option<String>,
    /// `image` or `video`.
    media_type: Option<String>,
    media_url: Option<String>,
    /// The greeting that the advertisement showed in the chat before the person wrote.
    welcome_message: Option<String>,
}

impl From<Referral> for ReferralView {
    fn from(referral: Referral) -> Self {
        Self {
            kind: referral.kind,
            id: referral.id,
            url: referral.url,
            headline: referral.headline,
            body: referral.body,
            click: referral.click,
            media_type: referral.media_type,
            media_url: referral.media_url,
            welcome_message: referral.welcome_message,
        }
    }
}
