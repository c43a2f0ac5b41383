//! Limits the number of instances that have series of their own. The rest share the label `other`, so that totals stay
//! right and a large installation does not make a large page.

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Metadata, Recorder, SharedString, Unit};
use recado_pipeline::measure::NO_INSTANCE;
use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

/// The value of the label `instance` that the rest share.
pub(super) const OTHER: &str = "other";

/// The instances that have series of their own: those that were named first, up to a limit.
#[derive(Debug)]
pub(super) struct InstanceLabels {
    most: usize,
    admitted: RwLock<HashSet<String>>,
}

impl InstanceLabels {
    /// Creates an empty list for at most `most` instances.
    pub(super) fn with_limit(most: usize) -> Self {
        Self {
            most,
            admitted: RwLock::default(),
        }
    }

    /// Returns `true` if an instance has series of its own; if there is room, it gets them now.
    pub(super) fn admit_instance(&self, id: &str) -> bool {
        let known = self.admitted.read().unwrap_or_else(PoisonError::into_inner);
        if id == NO_INSTANCE || known.contains(id) {
            return true;
        }
        if known.len() >= self.most {
            return false;
        }
        drop(known);
        let mut admitted = self.admitted.write().unwrap_or_else(PoisonError::into_inner);
        if admitted.len() >= self.most {
            return admitted.contains(id);
        }
        admitted.insert(id.to_owned());
        true
    }

    /// Returns the label of an instance: its id, or [`OTHER`].
    pub(super) fn choose_label(&self, id: &str) -> String {
        let label = if self.admit_instance(id) { id } else { OTHER };
        label.to_owned()
    }
}

/// A recorder that replaces the label `instance` of instances without series of their own.
#[derive(Debug)]
pub(super) struct LimitedRecorder<R> {
    inner: R,
    labels: Arc<InstanceLabels>,
}

impl<R> LimitedRecorder<R> {
    /// Wraps `inner`.
    pub(super) fn new(inner: R, labels: Arc<InstanceLabels>) -> Self {
        Self { inner, labels }
    }

    /// Returns the key under which `key` is recorded, if that is another.
    fn replace_key(&self, key: &Key) -> Option<Key> {
        let mut named = key.labels().filter(|label| label.key() == "instance");
        if named.all(|label| self.labels.admit_instance(label.value())) {
            return None;
        }
        let replace = |label: &Label| match label.key() {
            "instance" => Label::from_static_parts("instance", OTHER),
            _ => label.clone(),
        };
        let labels: Vec<Label> = key.labels().map(replace).collect();
        Some(Key::from_parts(key.name().to_owned(), labels))
    }
}

impl<R: Recorder> Recorder for LimitedRecorder<R> {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.inner.describe_counter(key, unit, description);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.inner.describe_gauge(key, unit, description);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.inner.describe_histogram(key, unit, description);
    }

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        let other = self.replace_key(key);
        self.inner
            .register_counter(other.as_ref().unwrap_or(key), metadata)
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        let other = self.replace_key(key);
        self.inner.register_gauge(other.as_ref().unwrap_or(key), metadata)
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        let other = self.replace_key(key);
        self.inner
            .register_histogram(other.as_ref().unwrap_or(key), metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_instances_have_labels_of_their_own_and_keep_them() {
        let labels = InstanceLabels::with_limit(2);
        assert_eq!(labels.choose_label("b"), "b");
        assert_eq!(labels.choose_label("a"), "a");
        assert_eq!(labels.choose_label("c"), OTHER);
        assert_eq!(labels.choose_label("b"), "b");
        assert_eq!(labels.choose_label(NO_INSTANCE), NO_INSTANCE);
        assert_eq!(InstanceLabels::with_limit(0).choose_label("a"), OTHER);
    }

    #[test]
    fn no_more_are_admitted_however_many_ask_at_once() {
        let labels = InstanceLabels::with_limit(10);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let labels = &labels;
                scope.spawn(move || {
                    for number in 0..100 {
                        labels.admit_instance(&format!("{thread}-{number}"));
                    }
                });
            }
        });
        assert_eq!(labels.admitted.read().unwrap().len(), 10);
    }
}
