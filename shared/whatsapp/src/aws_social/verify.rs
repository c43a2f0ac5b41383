//! Decides if an event is authentic. AWS signs nothing for Recado. The queue's policy decides who may write to the
//! queue, and the topic in the envelope is compared with the configured topics.

/// The SNS topics from which events are accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedTopics(Vec<String>);

impl AllowedTopics {
    /// Reads ARNs separated by commas. An empty list allows every topic that the queue's policy lets in.
    pub fn parse(list: &str) -> Self {
        let arns = list.split(',').map(str::trim).filter(|arn| !arn.is_empty());
        Self(arns.map(str::to_owned).collect())
    }

    /// Returns `true` if an event of `topic` is accepted. An event without a topic (delivered raw) is accepted only if
    /// every topic is allowed.
    pub fn allows_topic(&self, topic: Option<&str>) -> bool {
        self.0.is_empty() || topic.is_some_and(|topic| self.0.iter().any(|allowed| allowed == topic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_topics_that_were_named_are_let_in() {
        let topics = AllowedTopics::parse(
            "arn:aws:sns:sa-east-1:123456789012:one, arn:aws:sns:sa-east-1:123456789012:two,",
        );
        assert!(topics.allows_topic(Some("arn:aws:sns:sa-east-1:123456789012:two")));
        assert!(!topics.allows_topic(Some("arn:aws:sns:sa-east-1:123456789012:twofold")));
        assert!(!topics.allows_topic(Some("")));
        assert!(!topics.allows_topic(None));
    }

    #[test]
    fn with_none_named_the_queues_policy_decides() {
        for none in ["", " , "] {
            assert!(AllowedTopics::parse(none).allows_topic(Some("arn:aws:sns:sa-east-1:123456789012:one")));
            assert!(AllowedTopics::parse(none).allows_topic(None));
        }
    }
}
