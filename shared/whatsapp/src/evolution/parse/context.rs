//! Reads the context of a message from `contextInfo`. In version 2 this object is beside `message`, in version 1 inside
//! the content.

use super::content;
use crate::wire::json::{get_text, get_untrimmed_text, list_members, parse_integer};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::context::{MessageContext, QuotedMessage, Referral};
use serde_json::Value;

/// Forwarding score from which WhatsApp shows "forwarded many times"; 127 stands for the same.
const FORWARDED_OFTEN: i64 = 4;

/// Reads the context from `data`, the object that contains `message`.
pub(super) fn parse_context(data: &Value) -> MessageContext {
    let none = Value::Null;
    let message = data.get("message").unwrap_or(&none);
    let places: Vec<&Value> = data
        .get("contextInfo")
        .into_iter()
        .chain(content::content_bodies(message).filter_map(|body| body.get("contextInfo")))
        .filter(|place| place.is_object())
        .collect();
    let score = find_first(&places, |place| parse_integer(place.get("forwardingScore")?)).unwrap_or(0);
    let flagged = find_first(&places, |place| place.get("isForwarded")?.as_bool()).unwrap_or(false);
    MessageContext {
        reply_to: parse_quoted(&places),
        forwarded: flagged || score > 0,
        frequently_forwarded: score >= FORWARDED_OFTEN,
        referral: find_first(&places, parse_referral),
        product: find_product_name(message)
            .or_else(|| find_first(&places, |place| find_product_name(place.get("quotedMessage")?))),
        by_other_agent: false,
        mentions: find_first(&places, parse_mentions).unwrap_or_default(),
        chosen: None,
        refers_to: None,
    }
}

fn find_first<'a, T>(places: &[&'a Value], read: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
    places.iter().find_map(|place| read(place))
}

fn parse_quoted(places: &[&Value]) -> Option<QuotedMessage> {
    let id = find_first(places, |place| get_text(place, "stanzaId")).map(str::to_owned);
    let said = find_first(places, |place| {
        let message = place
            .get("quotedMessage")
            .filter(|message| content::has_content(message))?;
        Some(match content::parse_content(message, None) {
            // If the quoted message was edited, its new text counts.
            Content::Edit { content, .. } => content.render_text(),
            content => content.render_text(),
        })
    });
    let said = said.filter(|said| !said.trim().is_empty());
    (id.is_some() || said.is_some()).then_some(QuotedMessage {
        id,
        text: said,
        message: None,
    })
}

/// Returns the identifier of the product that the message shows or asks about.
fn find_product_name(message: &Value) -> Option<String> {
    content::content_bodies(message).find_map(content::product_name)
}

fn parse_mentions(place: &Value) -> Option<Vec<String>> {
    let all: Vec<String> = list_members(place.get("mentionedJid"))
        .iter()
        .filter_map(|jid| ContactAddress::parse(jid.as_str()?))
        .map(|address| address.as_str().to_owned())
        .collect();
    (!all.is_empty()).then_some(all)
}

/// Reads the advertisement or post that the contact clicked. Programs use the same field to draw link previews, which
/// have no source; for a preview the result is `None`.
fn parse_referral(place: &Value) -> Option<Referral> {
    let clicked = get_text(place, "conversionSource")
        .is_some_and(|source| source.to_lowercase().ends_with("_ad"))
        || get_text(place, "conversionSource") == Some("FB_Ads")
        || get_text(place, "entryPointConversionSource") == Some("ctwa_ad");
    let Some(shown) = place.get("externalAdReply").filter(|shown| shown.is_object()) else {
        return clicked.then(|| Referral {
            kind: Some("ad".to_owned()),
            ..Referral::default()
        });
    };
    let kind = get_text(shown, "sourceType").map(str::to_lowercase);
    let click = get_text(shown, "ctwaClid").map(str::to_owned);
    let id = get_text(shown, "sourceId").map(str::to_owned);
    if !clicked && kind.is_none() && click.is_none() && id.is_none() {
        return None;
    }
    Some(Referral {
        kind: kind.or_else(|| Some("ad".to_owned())),
        id,
        url: get_untrimmed_text(shown, "sourceUrl"),
        headline: get_untrimmed_text(shown, "title"),
        body: get_untrimmed_text(shown, "body"),
        click,
        media_type: parse_ad_media_type(shown),
        media_url: ["mediaUrl", "originalImageUrl", "thumbnailUrl"]
            .into_iter()
            .find_map(|field| get_untrimmed_text(shown, field)),
        welcome_message: get_untrimmed_text(shown, "greetingMessageBody"),
    })
}

/// Returns the kind of the advertisement's picture or video. WhatsApp writes the number 1 for a picture and 2 for a video.
fn parse_ad_media_type(shown: &Value) -> Option<String> {
    let kind = shown.get("mediaType")?;
    let named = match parse_integer(kind) {
        Some(1) => "image",
        Some(2) => "video",
        Some(_) => return None,
        None => return kind.as_str().map(str::to_lowercase).filter(|kind| kind != "none"),
    };
    Some(named.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reply_is_known_beside_the_message_and_inside_it_and_in_wrappers() {
        let context = json!({"stanzaId": "Q1", "quotedMessage": {"conversation": "Qual horário?"},
            "mentionedJid": ["5511900000099:3@s.whatsapp.net", "100000000000001@lid", 7]});
        for data in [
            json!({"contextInfo": context, "message": {"conversation": "às 9"}}),
            json!({"message": {"extendedTextMessage": {"text": "às 9", "contextInfo": context}}}),
            json!({"message": {"ephemeralMessage": {"message": {"imageMessage": {"contextInfo": context}}}}}),
            json!({"contextInfo": {"expiration": 0}, "message": {"audioMessage": {"contextInfo": context}}}),
            json!({"contextInfo": null, "message": {"messageContextInfo": {"contextInfo": {"stanzaId": "no"}},
                "audioMessage": {"contextInfo": context}}}),
        ] {
            let read = parse_context(&data);
            let reply = read.reply_to.unwrap();
            assert_eq!(reply.id.as_deref(), Some("Q1"), "{data}");
            assert_eq!(reply.text.as_deref(), Some("Qual horário?"), "{data}");
            assert_eq!(
                read.mentions,
                ["5511900000099@s.whatsapp.net", "100000000000001@lid"]
            );
        }
    }

    #[test]
    fn what_is_quoted_is_told_in_words_whatever_it_was() {
        let told = |quoted: Value| {
            parse_context(&json!({"contextInfo": {"stanzaId": "Q1", "quotedMessage": quoted}}))
                .reply_to
                .unwrap()
                .text
        };
        assert_eq!(
            told(json!({"imageMessage": {"caption": "meu dente"}})).as_deref(),
            Some("[image] meu dente")
        );
        assert_eq!(
            told(
                json!({"documentWithCaptionMessage": {"message": {"documentMessage": {"fileName": "a.pdf"}}}})
            )
            .as_deref(),
            Some("[document a.pdf]")
        );
        assert_eq!(
            told(json!({"editedMessage": {"message": {"conversation": "às 9"}}})).as_deref(),
            Some("às 9")
        );
        assert_eq!(told(json!({})), None);
        assert_eq!(told(json!(null)), None);
    }

    #[test]
    fn forwarding_is_known_by_its_flag_or_its_score() {
        let forwarded = |context: Value| {
            let read = parse_context(&json!({ "contextInfo": context }));
            (read.forwarded, read.frequently_forwarded)
        };
        assert_eq!(forwarded(json!({})), (false, false));
        assert_eq!(
            forwarded(json!({"isForwarded": false, "forwardingScore": 0})),
            (false, false)
        );
        assert_eq!(forwarded(json!({"isForwarded": true})), (true, false));
        assert_eq!(
            forwarded(json!({"isForwarded": true, "forwardingScore": 3})),
            (true, false)
        );
        assert_eq!(
            forwarded(json!({"isForwarded": true, "forwardingScore": "4"})),
            (true, true)
        );
        assert_eq!(
            forwarded(json!({"isForwarded": true, "forwardingScore": {"low": 127, "high": 0}})),
            (true, true)
        );
    }

    #[test]
    fn an_advertisement_is_told_from_a_link_preview() {
        let preview = json!({"contextInfo": {"externalAdReply": {"title": "Site", "sourceUrl": "https://example.org"}}});
        assert_eq!(parse_context(&preview).referral, None);
        let ad = json!({"contextInfo": {"conversionSource": "FB_Ads", "externalAdReply": {"title": "Clareamento",
            "body": "20% off", "sourceType": "AD", "sourceId": "120200000000000001", "sourceUrl": "https://fb.me/x",
            "ctwaClid": "clid-1"}}});
        let referral = parse_context(&ad).referral.unwrap();
        assert_eq!(referral.kind.as_deref(), Some("ad"));
        assert_eq!(referral.id.as_deref(), Some("120200000000000001"));
        assert_eq!(referral.headline.as_deref(), Some("Clareamento"));
        assert_eq!(referral.click.as_deref(), Some("clid-1"));
        for bare in [
            json!({"contextInfo": {"entryPointConversionSource": "ctwa_ad"}}),
            json!({"contextInfo": {"conversionSource": "ctwa_ad"}}),
        ] {
            assert_eq!(parse_context(&bare).referral.unwrap().kind.as_deref(), Some("ad"));
        }
        let search = json!({"contextInfo": {"entryPointConversionSource": "global_search_new_chat"}});
        assert!(parse_context(&search).is_empty());
    }

    #[test]
    fn a_product_is_asked_about_by_showing_or_by_quoting_it() {
        let shown = json!({"productMessage": {"product": {"retailerId": "SKU-1", "productId": "9", "title": "Creme"}}});
        let asked = json!({"contextInfo": {"quotedMessage": shown}, "message": {"conversation": "tem?"}});
        assert_eq!(
            parse_context(&json!({ "message": shown })).product.as_deref(),
            Some("SKU-1")
        );
        assert_eq!(parse_context(&asked).product.as_deref(), Some("SKU-1"));
    }
}
