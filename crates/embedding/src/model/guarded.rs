//! Calls into the engine and the tokenizer that can panic on a model's files.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `call` and returns its result, or, if it panicked, the panic's message.
///
/// Both dependencies assert what their own files always satisfy; a damaged or hostile model folder
/// need not satisfy it. An object that panicked is dropped and never used again.
pub(super) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| message(panic.as_ref()))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown cause");
    // Panic messages can quote the file; one line is enough.
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

/// The message of the engine's error, without the backtrace that it has where `RUST_BACKTRACE` is set.
pub(super) fn engine(error: &candle_core::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(guarded(|| 1), Ok(1));
        assert_eq!(guarded(|| -> u8 { panic!("first\nsecond") }), Err("first".to_owned()));
        assert_eq!(guarded(|| -> u8 { panic!("{}", 7) }), Err("7".to_owned()));
    }
}
