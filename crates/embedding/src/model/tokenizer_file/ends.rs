//! The marks that are put around each text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Checks, Fault, parse, sequence};
use crate::recipe::Recipe;

/// The marks of a pair may fill a very short model: RoBERTa puts four.
const PAIR_MARKS_MAX: usize = 8;
/// Processors in a row; two are the most of the supported models.
const PROCESSORS_MAX: usize = 8;
/// Parts of a template, and marks that it defines; seven are the most of the supported models.
const PARTS_MAX: usize = 64;

#[derive(Deserialize, Serialize)]
#[serde(tag = "type")]
enum Processor {
    BertProcessing {
        sep: Mark,
        cls: Mark,
    },
    ByteLevel {
        add_prefix_space: bool,
        trim_offsets: bool,
        #[serde(default = "yes")]
        use_regex: bool,
    },
    RobertaProcessing {
        sep: Mark,
        cls: Mark,
        trim_offsets: bool,
        add_prefix_space: bool,
    },
    TemplateProcessing {
        single: Vec<Part>,
        pair: Vec<Part>,
        special_tokens: BTreeMap<String, Special>,
    },
}

/// A mark and its number.
type Mark = (String, u32);

#[derive(Deserialize, Serialize)]
enum Part {
    Sequence { id: Which, type_id: u32 },
    SpecialToken { id: String, type_id: u32 },
}

#[derive(Deserialize, Serialize, PartialEq, Eq, Clone, Copy)]
enum Which {
    A,
    B,
}

#[derive(Deserialize, Serialize)]
struct Special {
    id: String,
    ids: Vec<u32>,
    tokens: Vec<String>,
}

fn yes() -> bool {
    true
}

/// Checks the post-processor, and returns it without fields that were not checked.
pub(super) fn post_processor(value: Value, recipe: &Recipe) -> Checks<Value> {
    let mut added = 0;
    let value = check(&mut added, &mut 0, "post_processor", value, recipe)?;
    check_added("post_processor", added, recipe.terms_max)?;
    Ok(value)
}

fn check(
    added: &mut usize,
    count: &mut usize,
    at: &str,
    mut value: Value,
    recipe: &Recipe,
) -> Checks<Value> {
    *count += 1;
    if *count > PROCESSORS_MAX {
        let reason = format!("there are more before it than the limit, {PROCESSORS_MAX}");
        return Err(Fault::unsupported(at, reason));
    }
    if let Some(parts) = sequence(at, &mut value, "processors")? {
        let parts = parts.into_iter().map(|(at, part)| check(added, count, &at, part, recipe));
        let parts = parts.collect::<Checks<Vec<Value>>>()?;
        return Ok(json!({ "type": "Sequence", "processors": parts }));
    }
    let processor: Processor = parse(at, value)?;
    *added += match &processor {
        Processor::ByteLevel { .. } => 0,
        Processor::BertProcessing { sep, cls } | Processor::RobertaProcessing { sep, cls, .. } => {
            check_number(&format!("{at}.sep"), sep.1, recipe)?;
            check_number(&format!("{at}.cls"), cls.1, recipe)?;
            2
        }
        Processor::TemplateProcessing { single, pair, special_tokens } => {
            check_specials(&format!("{at}.special_tokens"), special_tokens, recipe)?;
            let single_at = format!("{at}.single");
            let uses = |which| {
                let is = |part: &&Part| matches!(part, Part::Sequence { id, .. } if *id == which);
                single.iter().filter(is).count()
            };
            if (uses(Which::A), uses(Which::B)) != (1, 0) {
                let reason = "it does not have the text once; valid: A once, and no B";
                return Err(Fault::damaged(&single_at, reason));
            }
            let pair_at = format!("{at}.pair");
            let pair_added = check_template(&pair_at, pair, special_tokens, recipe)?;
            check_added(&pair_at, pair_added, recipe.terms_max.max(PAIR_MARKS_MAX))?;
            check_template(&single_at, single, special_tokens, recipe)?
        }
    };
    Ok(json!(processor))
}

fn check_specials(at: &str, specials: &BTreeMap<String, Special>, recipe: &Recipe) -> Checks<()> {
    check_count(at, specials.len())?;
    for (name, Special { ids, tokens, .. }) in specials {
        let at = format!("{at}[{:?}]", name.chars().take(40).collect::<String>());
        check_count(&at, ids.len().max(tokens.len()))?;
        if ids.len() != tokens.len() {
            return Err(Fault::damaged(&at, "its ids and its tokens differ in number"));
        }
        ids.iter().try_for_each(|id| check_number(&at, *id, recipe))?;
    }
    Ok(())
}

/// Checks a template, and returns the number of tokens that it adds.
fn check_template(
    at: &str,
    template: &[Part],
    specials: &BTreeMap<String, Special>,
    recipe: &Recipe,
) -> Checks<usize> {
    check_count(at, template.len())?;
    let (mut added, mut seen) = (0, Vec::new());
    for (index, part) in template.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let kind = match part {
            Part::Sequence { id, .. } if seen.contains(id) => {
                return Err(Fault::damaged(&at, "the template has this text twice; valid: once"));
            }
            Part::Sequence { id, type_id } => {
                seen.push(*id);
                *type_id
            }
            Part::SpecialToken { id, type_id } => {
                let special = specials.get(id).ok_or_else(|| {
                    let known: Vec<&String> = specials.keys().collect();
                    let shown: String = id.chars().take(40).collect();
                    let reason = format!("{shown:?} is not defined; valid: {}", json!(known));
                    Fault::damaged(&at, reason)
                })?;
                added += special.ids.len();
                *type_id
            }
        };
        // A network with one type, or none, reads none.
        let types = recipe.config.type_vocab_size;
        if types > 1 && kind as usize >= types {
            let reason =
                format!("the type {kind} is not one of the network's; valid: below {types}");
            return Err(Fault::damaged(&at, reason));
        }
    }
    Ok(added)
}

fn check_added(at: &str, added: usize, terms_max: usize) -> Checks<()> {
    if added > terms_max {
        let reason =
            format!("it adds {added} tokens; valid: up to the model's length, {terms_max}");
        return Err(Fault::damaged(at, reason));
    }
    Ok(())
}

fn check_count(at: &str, count: usize) -> Checks<()> {
    if count > PARTS_MAX {
        let reason = format!("it has {count} entries; valid: up to {PARTS_MAX}");
        return Err(Fault::unsupported(at, reason));
    }
    Ok(())
}

fn check_number(at: &str, number: u32, recipe: &Recipe) -> Checks<()> {
    let words = recipe.config.vocab_size;
    if number as usize >= words {
        let reason = format!(
            "the token {number} is not one of the {words} that config.json has; valid: below {words}"
        );
        return Err(Fault::damaged(at, reason));
    }
    Ok(())
}
