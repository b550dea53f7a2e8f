//! What an expression may take, so that nobody's subscription costs the broker more than it should.

/// Bytes of an expression. The longest in use are lists of ids.
pub const EXPRESSION_BYTES_MAX: usize = 64 << 10;
/// Levels of an expression's tree: each takes a frame of the stack, when it is read and when it is evaluated.
pub const DEPTH_MAX: usize = 100;
/// Different properties in an expression: their values are found in one pass over a message's properties, and noted
/// on the stack.
pub const PROPERTIES_MAX: usize = 64;
