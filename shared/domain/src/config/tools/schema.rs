//! JSON schemas of arguments. A schema is complete in itself: nothing is loaded for it.
//!
//! The crate `boon` checks them: it brings four crates that were not there; `jsonschema` would bring 26.

use super::Tool;
use super::schema_error::SchemaError;
use super::schema_size::SchemaParts;
use crate::json_depth::is_value_too_deep;
use boon::{CompileError, Compiler, SchemaIndex, Schemas, UrlLoader};
use serde_json::{Map, Value};
use std::error::Error;
use std::fmt;

/// The place under which a schema is compiled. Nothing is loaded from there.
const PLACE: &str = "recado:/arguments";

/// Greatest number of mistakes that a model is told of at once.
const MISTAKES_MAX: usize = 5;

/// Greatest length of the description of mistakes, in characters.
const TOLD_MAX: usize = 800;

/// Greatest length of a schema, as JSON.
const SCHEMA_MAX: usize = 16_000;

/// A JSON schema of arguments, ready to check them.
pub struct ArgumentSchema {
    schema: Value,
    schemas: Schemas,
    root: SchemaIndex,
}

impl fmt::Debug for ArgumentSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentSchema").finish_non_exhaustive()
    }
}

/// Loads nothing: a schema may refer to itself alone.
struct NoDocuments;

impl UrlLoader for NoDocuments {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("it refers to another document".into())
    }
}

impl ArgumentSchema {
    /// Compiles a schema. One whose checks would not be bounded is refused.
    ///
    /// # Errors
    ///
    /// The reason why the schema cannot be used.
    pub fn compile(schema: &Map<String, Value>) -> Result<Self, SchemaError> {
        if schema.get("type") != Some(&Value::from("object")) {
            return Err(SchemaError::NoObject);
        }
        let schema = Value::Object(schema.clone());
        if schema.to_string().len() > SCHEMA_MAX {
            return Err(SchemaError::TooLong);
        }
        if is_value_too_deep(&schema) {
            return Err(SchemaError::TooLarge);
        }
        SchemaParts::read_schema(&schema)?;
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(NoDocuments));
        compiler.enable_format_assertions();
        let mut schemas = Schemas::new();
        let told = |error: &CompileError| SchemaError::Invalid(cut(&error.to_string().replace(PLACE, "")));
        if let Err(error) = compiler.add_resource(PLACE, schema.clone()) {
            return Err(told(&error));
        }
        match compiler.compile(PLACE, &mut schemas) {
            Ok(root) => Ok(Self {
                schema,
                schemas,
                root,
            }),
            Err(error) => Err(told(&error)),
        }
    }

    /// Checks arguments. Those whose check would take too much work are not looked at.
    ///
    /// # Errors
    ///
    /// The mistakes, described for the model that made them.
    pub fn check_arguments(&self, arguments: &Value) -> Result<(), String> {
        if is_value_too_deep(arguments) {
            return Err("the arguments are nested too deeply".to_owned());
        }
        let parts = SchemaParts::read_schema(&self.schema).map_err(|error| error.to_string())?;
        if !parts.can_check(arguments) {
            return Err("they are too large for their schema: send fewer and shorter values".to_owned());
        }
        let Err(error) = self.schemas.validate(arguments, self.root) else {
            return Ok(());
        };
        let mut mistakes = Vec::new();
        collect_mistakes(&error, &mut mistakes);
        Err(cut(&mistakes.join("; ")))
    }
}

impl Tool {
    /// Checks the arguments of a call against the tool's schema. Takes milliseconds for a large schema or large arguments.
    ///
    /// # Errors
    ///
    /// The mistakes, described for the model that made them.
    pub fn check_arguments(&self, arguments: &Value) -> Result<(), String> {
        let schema = ArgumentSchema::compile(&self.arguments).map_err(|error| error.to_string())?;
        schema.check_arguments(arguments)
    }
}

/// Collects the innermost mistakes, each with its place.
fn collect_mistakes(error: &boon::ValidationError<'_, '_>, into: &mut Vec<String>) {
    if into.len() >= MISTAKES_MAX {
        return;
    }
    if error.causes.is_empty() {
        let place = error.instance_location.to_string();
        let place = if place.is_empty() { "arguments" } else { &place };
        into.push(format!("{place}: {}", error.kind));
    }
    for cause in &error.causes {
        collect_mistakes(cause, into);
    }
}

fn cut(text: &str) -> String {
    text.chars().take(TOLD_MAX).collect()
}
