//! An HTTP origin whose timing is known.
