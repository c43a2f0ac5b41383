//! The size of a JSON schema with its `$ref` followed, and the work of checking arguments against it.
//!
//! A schema of a few hundred characters can ask for more work than a processor does in a year: parts that lead to the same part
//! twice, forty times over. Whoever writes schemas and whoever writes arguments are strangers, so both are measured before the
//! checker meets them. The measure follows the rules of the checker, and never says less than that does.

use super::pattern_size::{PATTERN_LENGTH_MAX, PATTERN_SIZE_MAX, measure_pattern};
use super::schema_error::SchemaError;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Greatest number of parts of a schema with its `$ref` followed. A part that is reached twice counts twice.
const PARTS_MAX: usize = 10_000;

/// Greatest number of parts from the outermost to the innermost. A `$ref` back to a part on the way ends the way.
const DEPTH_MAX: usize = 32;

/// Greatest size of all patterns of a schema.
const PATTERNS_MAX: u64 = 10_000;

/// Most work for arguments, in parts of the schema that look at a value.
const WORK_MAX: u64 = 100_000;

/// Most parts and values within each other while arguments are checked: each takes some of the thread's stack.
const NESTING_MAX: u32 = 96;

/// Characters of a text that cost as much as a part of a schema.
const CHARACTERS_OF_A_PART: u64 = 32;

/// The values to which a part of a schema leads from the value that it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaStep<'s> {
    /// The same value.
    Stay,
    /// The value of one property.
    Property(&'s str),
    /// The values of all properties that the part does not name.
    OtherProperties,
    /// The values of all properties.
    AnyProperty,
    /// One item.
    Item(usize),
    /// All items.
    AnyItem,
}

/// A part of a schema: an object or a boolean that is a schema by itself.
#[derive(Debug, Default)]
struct SchemaPart<'s> {
    steps: Vec<(SchemaStep<'s>, usize)>,
    /// The names of its `properties`.
    named: BTreeSet<&'s str>,
    /// The cost for any value: that of the values with which the part compares it.
    compared: u64,
    /// The size of its pattern, which reads texts.
    pattern: u64,
    /// The size of the patterns that read the names of properties.
    name_patterns: u64,
    has_unique_items: bool,
    has_regex_format: bool,
}

/// The parts of a schema, and how they lead to each other. The outermost is the first.
#[derive(Debug)]
pub(super) struct SchemaParts<'s> {
    parts: Vec<SchemaPart<'s>>,
}

impl<'s> SchemaParts<'s> {
    /// Reads the parts of a schema, and refuses one that is not small.
    pub(super) fn read_schema(schema: &'s Value) -> Result<Self, SchemaError> {
        refuse_what_moves_places(schema)?;
        let parts = PartReader::read_all(schema)?;
        let read = Self { parts };
        read.count_parts()?;
        Ok(read)
    }

    /// Counts the parts with their `$ref` followed.
    fn count_parts(&self) -> Result<(), SchemaError> {
        self.count_from(0, &mut vec![(0, SchemaStep::Stay)], &mut 0)
    }

    fn count_from(
        &self,
        part: usize,
        way: &mut Vec<(usize, SchemaStep<'s>)>,
        count: &mut usize,
    ) -> Result<(), SchemaError> {
        *count += 1;
        if *count > PARTS_MAX || way.len() > DEPTH_MAX {
            return Err(SchemaError::TooLarge);
        }
        for (step, next) in &self.parts[part].steps {
            let Some(before) = way.iter().position(|(one, _)| one == next) else {
                way.push((*next, *step));
                self.count_from(*next, way, count)?;
                way.pop();
                continue;
            };
            *count += 1;
            let stays = |(_, step): &(usize, SchemaStep<'_>)| *step == SchemaStep::Stay;
            if *step == SchemaStep::Stay && way[before + 1..].iter().all(stays) {
                return Err(SchemaError::EndlessReference);
            }
        }
        Ok(())
    }

    /// Returns `true` if the check of these arguments is bounded: not too much work, and not too deep.
    pub(super) fn can_check(&self, arguments: &Value) -> bool {
        let mut measure = WorkMeasure {
            parts: &self.parts,
            known: HashMap::new(),
        };
        measure.measure_value(0, arguments, NESTING_MAX).is_some()
    }
}

/// Refuses what lets a `$ref` lead elsewhere than to the place that it spells, and patterns that are not small.
fn refuse_what_moves_places(schema: &Value) -> Result<(), SchemaError> {
    let is_old = schema
        .get("$schema")
        .and_then(Value::as_str)
        .is_some_and(|draft| draft.contains("draft-04"));
    let mut patterns = 0;
    let mut left = vec![(schema, true)];
    while let Some((value, is_outermost)) = left.pop() {
        let Value::Object(fields) = value else {
            left.extend(value.as_array().into_iter().flatten().map(|one| (one, false)));
            continue;
        };
        for (key, field) in fields {
            let moves = match key.as_str() {
                "$id" => !is_outermost,
                "id" => is_old && !is_outermost,
                "$dynamicRef" | "$recursiveRef" => true,
                _ => false,
            };
            if moves && field.is_string() {
                return Err(SchemaError::Reference(key.clone()));
            }
            let names = field.as_object().filter(|_| key == "patternProperties");
            let texts = field.as_str().filter(|_| key == "pattern");
            let found = texts
                .into_iter()
                .chain(names.into_iter().flat_map(Map::keys).map(String::as_str));
            for pattern in found {
                let size = measure_pattern(pattern);
                patterns += size;
                let is_long = pattern.chars().count() > PATTERN_LENGTH_MAX;
                if is_long || size > PATTERN_SIZE_MAX || patterns > PATTERNS_MAX {
                    return Err(SchemaError::Pattern);
                }
            }
            left.push((field, false));
        }
    }
    Ok(())
}

/// Reads the parts of a schema that a check can reach.
struct PartReader<'s> {
    schema: &'s Value,
    /// The number of each part, by its address.
    known: BTreeMap<*const Value, usize>,
    parts: Vec<SchemaPart<'s>>,
    unread: Vec<(usize, &'s Value)>,
}

impl<'s> PartReader<'s> {
    fn read_all(schema: &'s Value) -> Result<Vec<SchemaPart<'s>>, SchemaError> {
        let mut reader = Self {
            schema,
            known: BTreeMap::new(),
            parts: Vec::new(),
            unread: Vec::new(),
        };
        reader.number_of(schema);
        while let Some((number, value)) = reader.unread.pop() {
            if let Value::Object(fields) = value {
                let part = reader.read_part(fields)?;
                reader.parts[number] = part;
            }
        }
        Ok(reader.parts)
    }

    fn number_of(&mut self, value: &'s Value) -> usize {
        let next = self.parts.len();
        let number = *self.known.entry(std::ptr::from_ref(value)).or_insert(next);
        if number == next {
            self.parts.push(SchemaPart::default());
            self.unread.push((number, value));
        }
        number
    }

    fn read_part(&mut self, fields: &'s Map<String, Value>) -> Result<SchemaPart<'s>, SchemaError> {
        let mut part = SchemaPart::default();
        for (key, value) in fields {
            match key.as_str() {
                "$ref" => {
                    let found = value.as_str().and_then(|place| find_place(self.schema, place));
                    let found = found.ok_or_else(|| SchemaError::Reference("$ref".to_owned()))?;
                    self.lead_to(&mut part, SchemaStep::Stay, found);
                }
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
                    self.lead_to_each(&mut part, value, |_| SchemaStep::Stay);
                }
                "prefixItems" => self.lead_to_each(&mut part, value, SchemaStep::Item),
                "items" if value.is_array() => self.lead_to_each(&mut part, value, SchemaStep::Item),
                "items" | "additionalItems" | "unevaluatedItems" | "contains" => {
                    self.lead_to(&mut part, SchemaStep::AnyItem, value);
                }
                "additionalProperties" => self.lead_to(&mut part, SchemaStep::OtherProperties, value),
                "unevaluatedProperties" | "propertyNames" => {
                    self.lead_to(&mut part, SchemaStep::AnyProperty, value);
                }
                "properties" | "patternProperties" | "dependentSchemas" | "dependencies" => {
                    for (name, value) in value.as_object().into_iter().flatten() {
                        let step = match key.as_str() {
                            "properties" => SchemaStep::Property(name),
                            "patternProperties" => SchemaStep::AnyProperty,
                            _ => SchemaStep::Stay,
                        };
                        self.lead_to(&mut part, step, value);
                    }
                }
                "const" | "enum" | "required" | "dependentRequired" => part.compared += count_texts(value),
                "pattern" => part.pattern = value.as_str().map_or(0, measure_pattern),
                "uniqueItems" => part.has_unique_items = value.as_bool() == Some(true),
                "format" => part.has_regex_format = value.as_str() == Some("regex"),
                _ => {}
            }
        }
        part.note_names(fields);
        Ok(part)
    }

    fn lead_to(&mut self, part: &mut SchemaPart<'s>, step: SchemaStep<'s>, value: &'s Value) {
        if value.is_object() || value.is_boolean() {
            let number = self.number_of(value);
            part.steps.push((step, number));
        }
    }

    fn lead_to_each(
        &mut self,
        part: &mut SchemaPart<'s>,
        value: &'s Value,
        step: impl Fn(usize) -> SchemaStep<'s>,
    ) {
        let several = value.as_array().into_iter().flatten();
        for (number, value) in several.chain([value]).enumerate() {
            self.lead_to(part, step(number), value);
        }
    }
}

impl<'s> SchemaPart<'s> {
    fn note_names(&mut self, fields: &'s Map<String, Value>) {
        let object = |key: &str| fields.get(key).and_then(Value::as_object).into_iter();
        self.named
            .extend(object("properties").flat_map(Map::keys).map(String::as_str));
        let patterns = object("patternProperties").flat_map(Map::keys);
        self.name_patterns = patterns.map(|pattern| measure_pattern(pattern)).sum();
        // The schema of names may have any pattern of the schema.
        if fields.contains_key("propertyNames") {
            self.name_patterns += PATTERN_SIZE_MAX;
        }
    }

    /// Returns what the part costs for a value, without the parts to which it leads.
    fn own_work(&self, value: &Value) -> u64 {
        let parts_of = |length: usize| (length as u64) / CHARACTERS_OF_A_PART;
        let of_value = match value {
            Value::String(text) => {
                let regex = if self.has_regex_format {
                    parts_of(text.len()).pow(2)
                } else {
                    0
                };
                parts_of(text.len()) + self.pattern * (text.len() as u64) / 100 + regex
            }
            Value::Object(fields) => {
                let names: usize = fields.keys().map(String::len).sum();
                fields.len() as u64 + parts_of(names) + self.name_patterns * (names as u64) / 100
            }
            Value::Array(items) if self.has_unique_items => (items.len() as u64) + 20 * count_texts(value),
            Value::Array(items) => items.len() as u64,
            _ => 0,
        };
        1 + self.compared + of_value
    }
}

/// Counts the values within a value, and longer texts by their length.
fn count_texts(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(count_texts).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(count_texts).sum::<u64>(),
        Value::String(text) => 1 + (text.len() as u64) / CHARACTERS_OF_A_PART,
        _ => 1,
    }
}

/// Finds the part to which a `$ref` leads: `#`, or `#` with a JSON pointer.
fn find_place<'s>(schema: &'s Value, place: &str) -> Option<&'s Value> {
    let pointer = place.strip_prefix('#')?;
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut left = pointer.as_bytes();
    while let [first, rest @ ..] = left {
        left = rest;
        if *first == b'%' {
            let (digits, rest) = left.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            left = rest;
        } else {
            bytes.push(*first);
        }
    }
    schema.pointer(&String::from_utf8(bytes).ok()?)
}

/// Measures the work of checking arguments.
struct WorkMeasure<'a, 's> {
    parts: &'a [SchemaPart<'s>],
    /// The work and the nesting of a part with a value, by the number and the address.
    known: HashMap<(usize, *const Value), (u64, u32)>,
}

impl WorkMeasure<'_, '_> {
    /// Returns the work and the nesting of a part with a value. `None`: too much of either.
    fn measure_value(&mut self, number: usize, value: &Value, levels: u32) -> Option<(u64, u32)> {
        let levels = levels.checked_sub(1)?;
        let key = (number, std::ptr::from_ref(value));
        if let Some((work, nesting)) = self.known.get(&key) {
            return (*nesting <= levels + 1).then_some((*work, *nesting));
        }
        let parts = self.parts;
        let part = &parts[number];
        let (mut work, mut nesting) = (part.own_work(value), 0);
        for (step, next) in &part.steps {
            let mut add = |value: &Value| {
                let (more, deeper) = self.measure_value(*next, value, levels)?;
                work = work.saturating_add(more);
                nesting = nesting.max(deeper);
                (work <= WORK_MAX).then_some(())
            };
            match (step, value) {
                (SchemaStep::Stay, _) => add(value)?,
                (SchemaStep::Property(name), Value::Object(fields)) => {
                    fields.get(*name).map_or(Some(()), add)?;
                }
                (SchemaStep::AnyProperty, Value::Object(fields)) => fields.values().try_for_each(add)?,
                (SchemaStep::OtherProperties, Value::Object(fields)) => {
                    let others = fields
                        .iter()
                        .filter(|(name, _)| !part.named.contains(name.as_str()));
                    others.map(|(_, value)| value).try_for_each(add)?;
                }
                (SchemaStep::Item(place), Value::Array(items)) => items.get(*place).map_or(Some(()), add)?,
                (SchemaStep::AnyItem, Value::Array(items)) => items.iter().try_for_each(add)?,
                _ => {}
            }
        }
        if work > WORK_MAX {
            return None;
        }
        self.known.insert(key, (work, nesting + 1));
        Some((work, nesting + 1))
    }
}

#[cfg(test)]
mod tests;
