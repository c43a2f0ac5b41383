//! There is nothing to set up here, and nothing that could be posted.

/// What is to be done instead of setting a webhook.
pub(crate) const NO_WEBHOOK_TO_SET: &str = "AWS End User Messaging Social has no webhook: its events come by a topic and a \
    queue, which the stack's parameter SocialTopicArn sets up (docs/providers/aws-social.md)";

/// Why its events cannot be replayed.
pub(crate) const NO_WEBHOOK_TO_REPLAY: &str = "events of AWS come by a queue and cannot be posted";
