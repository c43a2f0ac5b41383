//! Writes structures in Thrift's compact protocol, as the descriptions in a file of Parquet are written
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>).

// The protocol's numbers of types.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Greatest size of a list that stands in the list's first byte.
const SHORT_LIST_MAX: usize = 14;

/// The value of a field.
#[derive(Debug, Clone)]
pub(super) enum Value {
    I32(i64),
    I64(i64),
    Text(String),
    I32s(Vec<i64>),
    Texts(Vec<String>),
    Structs(Vec<Value>),
    /// A structure that is written already.
    Struct(Vec<u8>),
}

/// The fields of a structure. They are added by their numbers, the lowest first, each at most 15 above the one before.
#[derive(Debug, Default)]
pub(super) struct Fields {
    bytes: Vec<u8>,
    last: u8,
}

impl Fields {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a field.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a value is written once, where it is made"
    )]
    pub(super) fn with(mut self, number: u8, value: Value) -> Self {
        self.bytes.push((number - self.last) << 4 | value.type_number());
        self.last = number;
        value.write_to(&mut self.bytes);
        self
    }

    /// Ends the structure.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    /// Ends the structure, and returns it as a value.
    pub(super) fn into_value(self) -> Value {
        Value::Struct(self.into_bytes())
    }
}

impl Value {
    fn type_number(&self) -> u8 {
        match self {
            Self::I32(_) => I32,
            Self::I64(_) => I64,
            Self::Text(_) => BINARY,
            Self::I32s(_) | Self::Texts(_) | Self::Structs(_) => LIST,
            Self::Struct(_) => STRUCT,
        }
    }

    fn write_to(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::I32(number) | Self::I64(number) => write_varint(to_zigzag(*number), bytes),
            Self::Text(text) => write_text(text, bytes),
            Self::I32s(numbers) => {
                write_list_begin(numbers.len(), I32, bytes);
                for number in numbers {
                    write_varint(to_zigzag(*number), bytes);
                }
            }
            Self::Texts(texts) => {
                write_list_begin(texts.len(), BINARY, bytes);
                for text in texts {
                    write_text(text, bytes);
                }
            }
            Self::Structs(all) => {
                write_list_begin(all.len(), STRUCT, bytes);
                for one in all {
                    one.write_to(bytes);
                }
            }
            Self::Struct(written) => bytes.extend(written),
        }
    }
}

fn write_list_begin(size: usize, of: u8, bytes: &mut Vec<u8>) {
    if let Some(short) = u8::try_from(size).ok().filter(|_| size <= SHORT_LIST_MAX) {
        bytes.push(short << 4 | of);
    } else {
        bytes.push(0xf0 | of);
        write_varint(size as u64, bytes);
    }
}

fn write_text(text: &str, bytes: &mut Vec<u8>) {
    write_varint(text.len() as u64, bytes);
    bytes.extend(text.as_bytes());
}

/// Returns a number whose low bit is the sign, so that small numbers are short.
fn to_zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

/// Writes a number in groups of seven bits, the lowest first.
pub(super) fn write_varint(mut number: u64, bytes: &mut Vec<u8>) {
    loop {
        let seven = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            bytes.push(seven);
            return;
        }
        bytes.push(seven | 0x80);
    }
}
