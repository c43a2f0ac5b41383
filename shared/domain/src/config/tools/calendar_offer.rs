//! The functions that the model may call of a calendar: their names, descriptions and arguments.

use super::{CalendarFunction, CalendarOperation, Tool, ToolEffect};
use crate::config::{Calendar, Tenant};
use serde_json::{Map, Value, json};

/// Longest ending of a function's name.
pub(super) const LONGEST_ENDING: usize = "_appointments".len();

impl CalendarOperation {
    /// All operations, those that read first.
    const ALL: [Self; 6] = [
        Self::FreeSlots,
        Self::Appointments,
        Self::Book,
        Self::Move,
        Self::Cancel,
        Self::Confirm,
    ];

    fn effect_of_calls(self) -> ToolEffect {
        match self {
            Self::FreeSlots | Self::Appointments | Self::Confirm => ToolEffect::Reads,
            Self::Book | Self::Move | Self::Cancel => ToolEffect::Acts,
        }
    }

    fn function_name_ending(self) -> &'static str {
        match self {
            Self::FreeSlots => "_free_slots",
            Self::Appointments => "_appointments",
            Self::Book => "_book",
            Self::Move => "_move",
            Self::Cancel => "_cancel",
            Self::Confirm => "_confirm",
        }
    }

    fn describe_operation(self) -> &'static str {
        match self {
            Self::FreeSlots => {
                "Lists free times for an appointment. Call it before you offer a time, and offer none that it did not list."
            }
            Self::Appointments => "Lists the appointments that this contact has.",
            Self::Book => {
                "Books an appointment for this contact. Call it once the contact agreed to a time that was listed as free."
            }
            Self::Move => {
                "Moves an appointment of this contact to another free time. Call it once the contact agreed to it."
            }
            Self::Cancel => {
                "Cancels an appointment of this contact. Call it once the contact asked for that clearly."
            }
            Self::Confirm => {
                "Notes that this contact confirmed an appointment, such as after a reminder of it."
            }
        }
    }

    fn describe_arguments(self, lengths: &[u16]) -> Map<String, Value> {
        let text =
            |about: &str, most: u16| json!({"type": "string", "maxLength": most, "description": about});
        let start = text(
            "The start, exactly as it was listed as free, such as 2026-11-24T10:00:00-03:00",
            64,
        );
        let minutes = json!({"enum": lengths, "description": "The length of the appointment, in minutes"});
        let which = text(
            "The id of the appointment, as it was listed. It may be left out if the contact has one alone",
            64,
        );
        let (properties, required) = match self {
            Self::FreeSlots => (
                json!({"from": text("The first day, such as 2026-11-24. If left out, today", 10),
                    "to": text("The last day. If left out, two weeks after the first", 10), "minutes": minutes}),
                json!([]),
            ),
            Self::Appointments => (json!({}), json!([])),
            Self::Book => (
                json!({"start": start, "minutes": minutes,
                    "title": text("The title in the calendar: who comes, and for what", 200),
                    "note": text("What people should know of it", 2000)}),
                json!(["start"]),
            ),
            Self::Move => (json!({"appointment": which, "start": start}), json!(["start"])),
            Self::Cancel | Self::Confirm => (json!({"appointment": which}), json!([])),
        };
        let mut schema = Map::new();
        schema.insert("type".to_owned(), Value::from("object"));
        schema.insert("properties".to_owned(), properties);
        schema.insert("required".to_owned(), required);
        schema.insert("additionalProperties".to_owned(), Value::from(false));
        schema
    }
}

impl Tool {
    /// Makes the functions that the model may call of a tool: of a calendar those that read, and if the tool acts those that act
    /// too; of a server of the Model Context Protocol one for each tool that is allowed; of every other tool itself. A tool whose
    /// calendar is not there has none.
    pub fn into_functions(self, calendars: &[Calendar], tenant: &Tenant) -> Vec<Self> {
        if let Some(server) = &self.mcp {
            return self.list_mcp_functions(server);
        }
        let Some(named) = &self.calendar else {
            return vec![self];
        };
        let mut owned = calendars.iter().filter(|found| found.tenant == self.tenant);
        let Some(calendar) = owned.find(|found| found.id == *named) else {
            return Vec::new();
        };
        let zone = calendar.resolve_time_zone(tenant);
        let operations = CalendarOperation::ALL.into_iter();
        let acts = self.effect == ToolEffect::Acts;
        let offered = operations.filter(|one| match one {
            CalendarOperation::Confirm => acts && !calendar.reminders.is_empty(),
            one => acts || one.effect_of_calls() == ToolEffect::Reads,
        });
        let function = |operation: CalendarOperation| Self {
            name: Some(format!(
                "{}{}",
                self.model_name(),
                operation.function_name_ending()
            )),
            description: format!("{} {}", operation.describe_operation(), self.description.trim()),
            effect: operation.effect_of_calls(),
            arguments: operation.describe_arguments(&calendar.minutes),
            function: Some(Box::new(CalendarFunction {
                operation,
                calendar: calendar.clone(),
                zone: zone.clone(),
            })),
            ..self.clone()
        };
        offered.map(function).collect()
    }
}
