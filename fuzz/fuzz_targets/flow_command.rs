//! Reads commands and templates. What a script is depends on no value, and a value is taken as it
//! is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use waypost_events::Data;
use waypost_flows::{Command, Template};

fuzz_target!(|input: (&str, &str)| {
    let (text, value) = input;
    let value = value.replace('\0', "");
    let mut data = Data::default();
    if data.insert("a", value.as_str()).is_err() {
        return;
    }
    let template = match text.parse::<Template>() {
        Ok(template) => template,
        Err(error) => {
            assert!(error.line > 0 && error.column > 0, "{error:?}");
            assert!(text.parse::<Command>().is_err(), "a command is a template, too");
            return;
        }
    };
    let values = template.references().count();
    match template.render(&data) {
        Ok(rendered) if values == 0 => assert_eq!(rendered, text),
        Ok(_) => {}
        Err(missing) => assert_ne!(missing.key, "a"),
    }
    let Ok(command) = text.parse::<Command>() else { return };
    if values == 0 {
        assert_eq!(command.script(), text);
    }
    if let Ok(variables) = command.variables(&data) {
        assert!(variables.len() <= values, "one in a comment is left out");
        for (name, _) in &variables {
            assert!(command.script().contains(&format!("${{{name}}}")), "{}", command.script());
        }
    }
});
