//! The sample configuration as installations of tests apply it: with a number of Meta, too.

/// Meta's name of that number.
pub const META_NUMBER: &str = "100000000000001";

/// Returns the text of the document.
pub fn write_sample_configuration() -> String {
    let meta = format!(
        r#"
            [[instances]]
            id = "meta-01"
            tenant = "demo"
            agent = "ana"
            provider = "meta"
            external_id = "{META_NUMBER}"
            "#
    );
    format!("{}{meta}", include_str!("../../../recado.toml"))
}
