//! Reads message templates through AWS.

use super::{AwsSocialEndpoint, config_with_timeout, format_origin};
use crate::meta::templates::read_template;
use crate::wire::template_lookup::TemplateLookup;
use aws_sdk_socialmessaging::error::SdkError;
use aws_sdk_socialmessaging::operation::get_whats_app_message_template::GetWhatsAppMessageTemplateError;
use recado_domain::content::MessageTemplate;

/// Reads a template of the number's account (`GetLinkedWhatsAppBusinessAccountPhoneNumber`, then
/// `GetWhatsAppMessageTemplate`). A role that may send need not be allowed to make these calls.
pub(crate) async fn fetch_template(at: &AwsSocialEndpoint<'_>, wanted: &MessageTemplate) -> TemplateLookup {
    let Some(account) = find_account(at).await else {
        return TemplateLookup::Unclear;
    };
    let found = at
        .client
        .calls
        .get_whats_app_message_template()
        .id(account)
        .template_name(&wanted.name)
        .template_language_code(&wanted.language)
        .customize()
        .config_override(config_with_timeout(at.timeout))
        .send()
        .await;
    match found {
        // AWS answers with the template as Meta describes it, as JSON in a text.
        Ok(output) => output
            .template
            .and_then(|text| serde_json::from_str(&text).ok())
            .map_or(TemplateLookup::Unclear, |row| {
                TemplateLookup::Known(read_template(&row))
            }),
        Err(SdkError::ServiceError(refused))
            if matches!(
                refused.err(),
                GetWhatsAppMessageTemplateError::ResourceNotFoundException(_)
            ) =>
        {
            TemplateLookup::Missing
        }
        Err(_) => TemplateLookup::Unclear,
    }
}

/// Returns AWS's id of the account that the number belongs to.
async fn find_account(at: &AwsSocialEndpoint<'_>) -> Option<String> {
    let found = at
        .client
        .calls
        .get_linked_whats_app_business_account_phone_number()
        .id(format_origin(at))
        .customize()
        .config_override(config_with_timeout(at.timeout))
        .send()
        .await;
    found.ok()?.linked_whats_app_business_account_id
}

#[cfg(test)]
mod tests;
