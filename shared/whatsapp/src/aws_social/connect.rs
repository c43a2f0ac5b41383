//! Texts for AWS End User Messaging Social, which has no webhook. So there is nothing to set up at AWS, and no URL to
//! which an event could be posted.

/// Message that tells the operator what to set up instead of a webhook.
pub(crate) const NO_WEBHOOK_TO_SET: &str = "AWS End User Messaging Social has no webhook: its events come by a topic and a \
    queue, which the stack's parameter SocialTopicArn sets up (docs/providers/aws-social.md)";

/// Message that tells why AWS events cannot be replayed.
pub(crate) const NO_WEBHOOK_TO_REPLAY: &str = "events of AWS come by a queue and cannot be posted";
