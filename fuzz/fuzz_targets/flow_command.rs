//! Reads commands and templates: a value that a command takes is a word.

#![no_main]

use libfuzzer_sys::fuzz_target;
use waypost_events::Data;
use waypost_flows::{Command, DataTypes, Template};

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
    let values = template.references().len();
    match template.render(&data) {
        Ok(rendered) if values == 0 => assert_eq!(rendered, text),
        Ok(_) => {}
        Err(missing) => assert_ne!(missing.key, "a"),
    }
    let Ok(command) = text.parse::<Command>() else { return };
    if let Ok(script) = command.script(&data, &DataTypes::default()) {
        assert_eq!(script, template.render(&data).expect("it has its values"));
        let is_used = template.references().iter().any(|it| it.key == "a");
        assert!(!is_used || !value.contains(|it: char| it.is_whitespace() || "'\"$`;&|".contains(it)));
    }
});
