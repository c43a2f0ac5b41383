use super::*;
use crate::ids::{AgentId, TenantId};
use jiff::civil::date;
use proptest::prelude::*;
use serde_json::json;

fn list(prices: &serde_json::Value) -> PriceList {
    serde_json::from_value(prices.clone()).unwrap()
}

fn sum(model: &str, day: Date, tokens: TokenUsage) -> UsageSum {
    let (tenant, agent) = (TenantId::parse("t").unwrap(), AgentId::parse("a").unwrap());
    UsageSum {
        replies: 1,
        tokens,
        ..UsageSum::start_empty(&tenant, &agent, day, model)
    }
}

fn tokens(input: u64, output: u64, read: u64, write: u64) -> TokenUsage {
    TokenUsage {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: write,
    }
}

#[test]
fn a_price_is_a_decimal_number_in_quotes_and_is_kept_exactly() {
    for (text, shown) in [
        ("3", "3.00"),
        ("3.75", "3.75"),
        ("0.1", "0.10"),
        ("0.000001", "0.000001"),
        ("1000000", "1000000.00"),
    ] {
        let price: TokenPrice = serde_json::from_value(json!(text)).unwrap();
        assert_eq!(serde_json::to_value(price).unwrap(), json!(shown));
    }
    for wrong in [
        json!(3.75),
        json!(3),
        json!(""),
        json!("-1"),
        json!("1e3"),
        json!(".5"),
        json!("5."),
        json!("0.0000001"),
        json!("1000000.01"),
        json!("99999999999999999999"),
        json!("٣"),
    ] {
        assert!(
            serde_json::from_value::<TokenPrice>(wrong.clone()).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn each_kind_of_tokens_has_its_price_and_the_cache_that_of_the_input_if_it_has_none() {
    let prices = list(&json!([
        {"model": "large", "input": "3", "output": "15", "cache_read": "0.30", "cache_write": "3.75"},
        {"model": "small", "input": "0.25", "output": "1.25", "currency": "EUR"},
    ]));
    let day = date(2026, 11, 23);
    let mut cost = prices.price_sum(&sum("large", day, tokens(1_000, 100, 10_000, 400)));
    let amounts: Vec<_> = cost
        .list_amounts()
        .map(|(c, a)| (c.as_str().to_owned(), a))
        .collect();
    assert_eq!(amounts, [("USD".to_owned(), 3_000 + 1_500 + 3_000 + 1_500)]);
    cost.add_cost(&prices.price_sum(&sum("small", day, tokens(4, 0, 4, 0))));
    cost.add_cost(&prices.price_sum(&sum("other", day, tokens(1, 2, 3, 4))));
    let amounts: Vec<_> = cost
        .list_amounts()
        .map(|(c, a)| (c.as_str().to_owned(), a))
        .collect();
    assert_eq!(amounts, [("EUR".to_owned(), 2), ("USD".to_owned(), 9_000)]);
    assert_eq!(cost.unpriced_tokens, 10);
}

#[test]
fn the_whole_name_counts_before_a_beginning_and_the_latest_day_before_an_earlier_one() {
    let prices = list(&json!([
        {"model": "a*", "input": "1", "output": "1"},
        {"model": "a-b*", "input": "2", "output": "1"},
        {"model": "a-b-c", "input": "3", "output": "1"},
        {"model": "a-b-c", "input": "4", "output": "1", "from": "2026-11-01"},
        {"model": "late", "input": "9", "output": "1", "from": "2026-11-01"},
    ]));
    let of = |model, day| {
        prices
            .find_price(&sum(model, day, TokenUsage::default()))
            .map(|price| price.input.unwrap().to_string())
    };
    let (october, november) = (date(2026, 10, 31), date(2026, 11, 1));
    for (model, day, price) in [
        ("a-x", november, Some("1.00")),
        ("a-b-x", november, Some("2.00")),
        ("a-b-c", october, Some("3.00")),
        ("a-b-c", november, Some("4.00")),
        ("late", october, None),
        ("b", november, None),
    ] {
        assert_eq!(of(model, day).as_deref(), price, "{model}");
    }
}

#[test]
fn prices_that_contradict_each_other_are_refused() {
    let price =
        |model: &str, from: Option<&str>| json!({"model": model, "input": "1", "output": "1", "from": from});
    for wrong in [
        json!([price("", None)]),
        json!([price(" a", None)]),
        json!([price("a*b", None)]),
        json!([price("a**", None)]),
        json!([price(&"a".repeat(201), None)]),
        json!([price("a", None), price("a", None)]),
        json!([price("a", Some("2026-01-01")), price("a", Some("2026-01-01"))]),
        json!(vec![price("a", None); 201]),
    ] {
        assert!(list(&wrong).check_prices().is_err(), "{wrong}");
    }
    let fine = json!([price("a", None), price("a", Some("2026-01-01")), price("*", None)]);
    assert_eq!(list(&fine).check_prices(), Ok(()));
    for wrong in ["usd", "DOLLAR", "U$"] {
        let one = json!({"model": "a", "input": "1", "output": "1", "currency": wrong});
        assert!(serde_json::from_value::<ModelPrice>(one).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn the_cost_of_a_sum_is_that_of_its_parts(counts in proptest::collection::vec((0..9_999_u64, 0..9_999_u64), 1..40)) {
        let prices = list(&json!([{"model": "*", "input": "0.333333", "output": "0.000001"}]));
        let day = date(2026, 11, 23);
        let mut parts = Cost::default();
        let mut all = TokenUsage::default();
        for (input, output) in counts {
            let one = tokens(input, output, 0, 0);
            parts.add_cost(&prices.price_sum(&sum("m", day, one)));
            all = all.add_token_counts(one);
        }
        prop_assert_eq!(parts, prices.price_sum(&sum("m", day, all)));
    }

    #[test]
    fn what_is_formatted_is_parsed_as_the_same(amount in 0..PRICE_MAX) {
        prop_assert_eq!(parse_decimal(&format_millionths(amount)), Some(amount));
    }
}

#[test]
fn a_recording_costs_by_its_minutes_where_the_price_names_them() {
    let day = date(2026, 11, 23);
    let prices = list(&json!([
        {"model": "whisper-1", "audio_minute": "0.006"},
        {"model": "large", "input": "3", "output": "15"},
    ]));
    prices.check_prices().unwrap();
    let recording = |model: &str, audio_millis| UsageSum {
        audio_millis,
        recordings: 1,
        ..sum(model, day, TokenUsage::default())
    };
    let cost = prices.price_sum(&recording("whisper-1", 90_000));
    assert_eq!(cost.find_amount(&Currency::default()), 9_000);
    assert_eq!((cost.unpriced_audio_millis, cost.unpriced_tokens), (0, 0));
    // A third of a millionth each: they are rounded together.
    let mut many = Cost::default();
    for _ in 0..30_000 {
        many.add_cost(&prices.price_sum(&recording("whisper-1", 1_000)));
    }
    assert_eq!(many.find_amount(&Currency::default()), 3_000_000);
    for unpriced in ["large", "other"] {
        let cost = prices.price_sum(&recording(unpriced, 1_500));
        assert_eq!(cost.unpriced_audio_millis, 1_500, "{unpriced}");
    }
    let of_tokens = prices.price_sum(&sum("whisper-1", day, tokens(7, 0, 0, 0)));
    assert_eq!(of_tokens.unpriced_tokens, 7);
}

#[test]
fn charged_messages_cost_by_the_price_of_their_category() {
    let day = date(2026, 11, 23);
    let prices = list(&json!([
        {"model": "meta:*", "message": "0.05", "currency": "EUR"},
        {"model": "meta:utility", "message": "0.000001"},
    ]));
    prices.check_prices().unwrap();
    let charged = |name: &str| UsageSum {
        replies: 0,
        charged_messages: 3,
        ..sum(name, day, TokenUsage::default())
    };
    let euros = Currency::try_from("EUR".to_owned()).unwrap();
    let utility = prices.price_sum(&charged("meta:utility"));
    assert_eq!(utility.find_amount(&Currency::default()), 3);
    let marketing = prices.price_sum(&charged("meta:marketing"));
    assert_eq!(marketing.find_amount(&euros), 150_000);
    assert_eq!((marketing.unpriced_messages, marketing.unpriced_tokens), (0, 0));
    let unpriced = prices.price_sum(&charged("360dialog:utility"));
    assert_eq!(unpriced.unpriced_messages, 3);
}

#[test]
fn a_charged_message_costs_what_the_price_of_its_country_says_else_that_of_all_countries() {
    let day = date(2026, 11, 23);
    let prices = list(&json!([
        {"model": "meta:utility", "message": "0.01"},
        {"model": "meta:utility", "message": "0.02", "countries": ["+1"]},
        {"model": "meta:utility", "message": "0.03", "countries": ["DO", "+55"]},
        {"model": "meta:utility", "message": "0.04", "countries": ["BR"], "from": "2027-01-01"},
        {"model": "meta:*", "message": "0.9", "countries": ["BR"]},
    ]));
    prices.check_prices().unwrap();
    let cost = |country: &str, day| {
        let charged = UsageSum {
            charged_messages: 1,
            country: Country::parse(country),
            ..sum("meta:utility", day, TokenUsage::default())
        };
        prices.price_sum(&charged).find_amount(&Currency::default())
    };
    for (country, micros) in [
        ("BR", 30_000),
        ("US", 20_000),
        ("CA", 20_000),
        ("DO", 30_000),
        ("PT", 10_000),
        ("", 10_000),
    ] {
        assert_eq!(cost(country, day), micros, "{country}");
    }
    assert_eq!(cost("BR", date(2027, 1, 1)), 40_000);
    for wrong in [
        json!([{"model": "a", "input": "1", "output": "1", "countries": ["BR"]}]),
        json!([{"model": "a", "audio_minute": "1", "countries": ["BR"]}]),
        json!([{"model": "a", "message": "1", "countries": ["BR", "PT"]}, {"model": "a", "message": "2", "countries": ["PT"]}]),
        json!([{"model": "a", "message": "1", "countries": ["+55"]}, {"model": "a", "message": "2", "countries": ["+55"]}]),
    ] {
        let told = list(&wrong).check_prices().unwrap_err();
        assert!(told.contains("countries"), "{told}");
    }
}

#[test]
fn a_price_names_both_prices_of_tokens_or_that_of_recordings_or_messages() {
    for wrong in [
        json!({"model": "a"}),
        json!({"model": "a", "input": "1"}),
        json!({"model": "a", "output": "1", "audio_minute": "1"}),
        json!({"model": "a", "cache_read": "1", "audio_minute": "1"}),
        json!({"model": "a", "cache_read": "1", "message": "1"}),
    ] {
        let told = list(&json!([wrong])).check_prices().unwrap_err();
        assert!(told.contains("audio_minute"), "{told}");
    }
    let both = json!([{"model": "a", "input": "1", "output": "1", "audio_minute": "1"}]);
    list(&both).check_prices().unwrap();
}
