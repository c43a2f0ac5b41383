//! Prices of models and of charged messages, and what they cost. All amounts are integers; nothing is rounded before the last step.

use crate::country::{Country, CountryChoice};
use crate::text_conversions::describe_as;
use crate::usage::{Date, TokenUsage, UsageSum};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// Number of decimals of a price and of an amount: both are counted in millionths.
const DECIMALS: usize = 6;

/// One unit of a currency, in millionths.
const UNIT: u64 = 1_000_000;

/// One minute, in milliseconds.
const MINUTE_MILLIS: u64 = 60_000;

/// Greatest price of a million tokens: a million units of its currency.
const PRICE_MAX: u64 = 1_000_000 * UNIT;

/// Greatest number of prices.
pub const PRICES_MAX: usize = 200;

/// Longest name of a model in a price, in characters.
const MODEL_MAX: usize = 200;

/// The price of a million tokens, in millionths of a currency's unit. It is written as a decimal number in quotes, such as `"3.75"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenPrice(u64);

describe_as!(TokenPrice, String);

impl TokenPrice {
    /// Parses a decimal number with at most six decimals. `None` if the text is none, or too much.
    pub fn parse(text: &str) -> Option<Self> {
        parse_decimal(text).filter(|price| *price <= PRICE_MAX).map(Self)
    }

    /// Returns what so many tokens cost, in millionths of a millionth of a unit.
    fn multiply_tokens(self, tokens: u64) -> u128 {
        u128::from(self.0) * u128::from(tokens)
    }

    /// Returns the cost of messages if this is the price of one. The unit is a millionth of a millionth of a unit of the currency.
    fn multiply_messages(self, messages: u64) -> u128 {
        u128::from(self.0) * u128::from(messages) * u128::from(UNIT)
    }

    /// Returns the cost of a recording if this is the price of a minute. The unit is a millionth of a millionth of a unit of
    /// the currency.
    fn multiply_minutes(self, audio_millis: u64) -> u128 {
        let of_minutes = u128::from(self.0) * u128::from(audio_millis) * u128::from(UNIT);
        of_minutes / u128::from(MINUTE_MILLIS)
    }
}

/// Parses a decimal number into millionths.
pub(crate) fn parse_decimal(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > DECIMALS {
        return None;
    }
    let millionths: u64 = format!("{part:0<DECIMALS$}").parse().ok()?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(UNIT)?
        .checked_add(millionths)
}

/// Formats millionths as a decimal number, without zeros at its end but with two decimals at least.
pub fn format_millionths(amount: u64) -> String {
    let (whole, part) = (amount / UNIT, amount % UNIT);
    let part = format!("{part:06}");
    let kept = part.trim_end_matches('0').len().max(2);
    format!("{whole}.{}", &part[..kept])
}

impl fmt::Display for TokenPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_millionths(self.0))
    }
}

impl Serialize for TokenPrice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TokenPrice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)
            .map_err(|_| D::Error::custom("a price must be written in quotes, such as \"3.75\""))?;
        Self::parse(&text).ok_or_else(|| {
            D::Error::custom(
                "a price must be a decimal number of at most six decimals, up to 1000000, such as \"3.75\"",
            )
        })
    }
}

/// A currency by its three characters of ISO 4217, such as `USD`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(pattern = "^[A-Z]{3}$"))]
#[serde(try_from = "String", into = "String")]
pub struct Currency(String);

impl Currency {
    /// Returns the currency's characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Currency {
    fn default() -> Self {
        Self("USD".to_owned())
    }
}

impl TryFrom<String> for Currency {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Ok(Self(text));
        }
        Err("a currency must have three capital characters, such as USD")
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> Self {
        currency.0
    }
}

/// The prices of a model, as decimal numbers of at most six decimals: of its tokens, each for a million, or of the recordings that it
/// transcribes, for a minute. Or the price of a message that a provider charges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Name of the model as its API reports it, or provider and category of charged messages, such as `meta:utility`. With `*` at
    /// the end, all names that begin so.
    #[cfg_attr(feature = "schema", schema(example = "claude-sonnet-4-5*"))]
    #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 200))]
    pub model: String,
    /// Price of the tokens that the model reads.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, example = "3.00"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<TokenPrice>,
    /// Price of the tokens that it writes.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, example = "15.00"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<TokenPrice>,
    /// Price of tokens that are read from the prompt cache: that of `input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<TokenPrice>,
    /// Price of tokens that are written to the prompt cache: that of `input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<TokenPrice>,
    /// Price of a minute of a recording, for a model that transcribes and tells no tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio_minute: Option<TokenPrice>,
    /// Price of a message that the provider charges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<TokenPrice>,
    /// Countries of the recipients for whom the price of a message holds: two characters, such as `BR`, or a calling code, such as `+55`.
    /// If empty, it holds for all that no other price names.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>, example = json!(["BR", "+351"])))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub countries: Vec<CountryChoice>,
    /// Currency of the prices: three capital letters.
    #[cfg_attr(feature = "schema", schema(default = "USD"))]
    #[serde(default)]
    pub currency: Currency,
    /// First day on which the prices hold, in UTC. If absent, they hold on all days before those of another entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Date>,
}

impl ModelPrice {
    /// Returns how many characters of a model's name the price names; `None` if it is not of that model.
    fn match_model(&self, model: &str) -> Option<usize> {
        match self.model.strip_suffix('*') {
            Some(begin) => model.starts_with(begin).then_some(begin.len()),
            None => (self.model == model).then_some(usize::MAX),
        }
    }

    /// Returns how closely the price names the country of a recipient: 2 by itself, 1 by its calling code, 0 if it names no country.
    /// `None`: it is of other countries.
    fn match_price_country(&self, country: Option<Country>) -> Option<u8> {
        if self.countries.is_empty() {
            return Some(0);
        }
        let country = country?;
        let covering = self
            .countries
            .iter()
            .filter(|choice| choice.covers_country(country));
        covering
            .map(|choice| if choice.is_calling_code() { 1 } else { 2 })
            .max()
    }

    /// Returns `true` if both prices may be the closest of a message: one names no country where the other names none, or both name the
    /// same one in the same way.
    fn shares_countries(&self, other: &Self) -> bool {
        let overlaps = |one: &CountryChoice, other: &CountryChoice| {
            one.is_calling_code() == other.is_calling_code() && one.shares_country(other)
        };
        let overlap = self
            .countries
            .iter()
            .any(|one| other.countries.iter().any(|other| overlaps(one, other)));
        overlap || (self.countries.is_empty() && other.countries.is_empty())
    }

    /// Returns what tokens cost, in millionths of a millionth of a unit; `None` if they have no price.
    fn price_tokens(&self, tokens: TokenUsage) -> Option<u128> {
        let (input, output) = self.input.zip(self.output)?;
        let priced = [
            (input, tokens.input_tokens),
            (output, tokens.output_tokens),
            (self.cache_read.unwrap_or(input), tokens.cache_read_tokens),
            (self.cache_write.unwrap_or(input), tokens.cache_write_tokens),
        ];
        let amounts = priced.map(|(price, count)| price.multiply_tokens(count));
        Some(amounts.into_iter().fold(0, u128::saturating_add))
    }

    /// Returns `true` if the price names both prices of tokens, or that of recordings or messages and nothing about tokens. One with
    /// countries is of messages alone.
    fn is_complete(&self) -> bool {
        if !self.countries.is_empty() {
            let others = [
                self.input,
                self.output,
                self.cache_read,
                self.cache_write,
                self.audio_minute,
            ];
            return self.message.is_some() && others.iter().all(Option::is_none);
        }
        let of_cache = self.cache_read.is_some() || self.cache_write.is_some();
        match (self.input, self.output) {
            (Some(_), Some(_)) => true,
            (None, None) => (self.audio_minute.is_some() || self.message.is_some()) && !of_cache,
            _ => false,
        }
    }
}

/// The prices of models, for the whole installation. A document that names them replaces all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceList {
    /// The prices.
    pub prices: Vec<ModelPrice>,
}

impl PriceList {
    /// Checks the number of prices and their names. Two prices of the same model begin on different days, or are of different countries.
    pub fn check_prices(&self) -> Result<(), &'static str> {
        if self.prices.len() > PRICES_MAX {
            return Err("there are at most 200 prices");
        }
        let mut seen: BTreeMap<_, Vec<&ModelPrice>> = BTreeMap::new();
        for price in &self.prices {
            let characters = price.model.trim_end_matches('*').chars().count();
            if price.model.trim() != price.model || price.model.is_empty() || characters > MODEL_MAX {
                return Err("the model of a price has 1 to 200 characters, and no space at either end");
            }
            if price.model.trim_end_matches('*').contains('*') || price.model.ends_with("**") {
                return Err("the model of a price may have one `*`, at its end");
            }
            if !price.is_complete() {
                return Err(
                    "a price has `input` and `output`, or `audio_minute`, or `message`; one with `countries` has `message` alone",
                );
            }
            let same = seen.entry((&price.model, price.from)).or_default();
            if same.iter().any(|other| other.shares_countries(price)) {
                return Err(
                    "two prices of the same model must begin on different days (`from`), or be of different countries",
                );
            }
            same.push(price);
        }
        Ok(())
    }

    /// Returns the price of what a sum counts: that with the whole name of its model, else with the longest beginning; of these that which
    /// names the country, and of these the latest.
    fn find_price(&self, sum: &UsageSum) -> Option<&ModelPrice> {
        let held = self
            .prices
            .iter()
            .filter(|price| price.from.is_none_or(|from| from <= sum.day));
        let closeness = |price: &ModelPrice| {
            let model = price.match_model(&sum.model)?;
            Some((model, price.match_price_country(sum.country)?, price.from))
        };
        held.filter_map(|price| Some((closeness(price)?, price)))
            .max_by_key(|(order, _)| *order)
            .map(|(_, price)| price)
    }

    /// Returns what a sum costs. What has no price is counted apart.
    pub fn price_sum(&self, sum: &UsageSum) -> Cost {
        let mut cost = Cost::default();
        let price = self.find_price(sum);
        let tokens = price.and_then(|price| price.price_tokens(sum.tokens));
        if tokens.is_none() {
            cost.unpriced_tokens = sum.tokens.count_all_tokens();
        }
        let minute = price.and_then(|price| price.audio_minute);
        let audio = minute.map(|minute| minute.multiply_minutes(sum.audio_millis));
        if audio.is_none() {
            cost.unpriced_audio_millis = sum.audio_millis;
        }
        let message = price.and_then(|price| price.message);
        let messages = message.map(|message| message.multiply_messages(sum.charged_messages));
        if messages.is_none() {
            cost.unpriced_messages = sum.charged_messages;
        }
        if let Some(price) = price {
            let parts = [tokens, audio, messages].into_iter().flatten();
            cost.amounts
                .insert(price.currency.clone(), parts.fold(0, u128::saturating_add));
        }
        cost
    }
}

/// The cost of tokens, recordings and charged messages, in each currency.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cost {
    /// The amounts, in millionths of a millionth of a unit, so that many small ones add up exactly.
    amounts: BTreeMap<Currency, u128>,
    /// Number of tokens of models that have no price.
    pub unpriced_tokens: u64,
    /// Length of recordings whose model has no price for them, in milliseconds.
    pub unpriced_audio_millis: u64,
    /// Number of charged messages that have no price.
    pub unpriced_messages: u64,
}

impl Cost {
    /// Adds another cost to this one.
    pub fn add_cost(&mut self, other: &Self) {
        for (currency, amount) in &other.amounts {
            let known = self.amounts.entry(currency.clone()).or_default();
            *known = known.saturating_add(*amount);
        }
        self.unpriced_tokens = self.unpriced_tokens.saturating_add(other.unpriced_tokens);
        self.unpriced_audio_millis = self
            .unpriced_audio_millis
            .saturating_add(other.unpriced_audio_millis);
        self.unpriced_messages = self.unpriced_messages.saturating_add(other.unpriced_messages);
    }

    /// Returns the amounts in millionths of a unit, rounded to the nearest.
    pub fn list_amounts(&self) -> impl Iterator<Item = (&Currency, u64)> {
        let half = u128::from(UNIT / 2);
        self.amounts.iter().map(move |(currency, amount)| {
            let rounded = amount.saturating_add(half) / u128::from(UNIT);
            (currency, u64::try_from(rounded).unwrap_or(u64::MAX))
        })
    }

    /// Returns the amount of a currency, in millionths of a unit.
    pub fn find_amount(&self, wanted: &Currency) -> u64 {
        let mut amounts = self.list_amounts();
        amounts
            .find(|(currency, _)| *currency == wanted)
            .map_or(0, |(_, amount)| amount)
    }
}

#[cfg(test)]
mod tests;
