//! JSON with comments, edited as text.

use std::collections::HashSet;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

/// Comments and trailing commas, which editors permit in their settings; nothing else that is not JSON.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A document and its outermost object, which is created in an empty document.
pub(super) fn document(text: &str) -> Result<(CstRootNode, CstObject), String> {
    let root = CstRootNode::parse(text, &OPTIONS).map_err(|error| {
        let (line, column) = (error.line_display(), error.column_display());
        format!("it is not valid JSON: line {line}, column {column}: {}", error.kind())
    })?;
    let Some(object) = root.object_value_or_create() else {
        return Err("it is not a JSON object".to_owned());
    };
    check_names(&object)?;
    Ok((root, object))
}

/// Checks that no object, at any depth, has two members of the same name: programs disagree about which one counts.
fn check_names(outermost: &CstObject) -> Result<(), String> {
    let mut pending = vec![CstNode::from(outermost.clone())];
    while let Some(node) = pending.pop() {
        if let Some(object) = node.as_object() {
            let mut names = HashSet::new();
            for member in object.properties() {
                let name = member.decoded_name().unwrap_or_default();
                pending.extend(member.value());
                if names.contains(&name) {
                    return Err(format!("it has \"{name}\" twice"));
                }
                names.insert(name);
            }
        } else if let Some(array) = node.as_array() {
            pending.extend(array.elements());
        }
    }
    Ok(())
}

/// The member of an object.
pub(super) fn member(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let is_named = |prop: &CstObjectProp| prop.decoded_name().as_deref() == Some(name);
    object.properties().into_iter().find(is_named)
}

/// The object that a member has, if the member exists.
pub(super) fn object_of(object: &CstObject, name: &str) -> Result<Option<CstObject>, String> {
    let Some(member) = member(object, name) else { return Ok(None) };
    let value = member.object_value();
    value.map(Some).ok_or_else(|| format!("\"{name}\" is not an object"))
}

/// Removes an object that has become empty, unless nothing else is left: some programs require it.
pub(super) fn remove_if_empty(outer: &CstObject, name: &str) -> Result<(), String> {
    let others = outer.properties();
    let is_other = |prop: &CstObjectProp| !matches!(prop.decoded_name().as_deref(), Some(prop) if prop == name || prop == "version");
    let is_empty = object_of(outer, name)?.is_some_and(|of| of.properties().is_empty());
    if is_empty && others.iter().any(is_other) {
        member(outer, name).into_iter().for_each(CstObjectProp::remove);
    }
    Ok(())
}

/// Makes sure that an edit has changed nothing but our own entries, which `strip` removes.
pub(super) fn check_others(old: &str, new: &str, strip: impl Fn(&mut Value)) -> Result<(), String> {
    let others = |text: &str| -> Option<Value> {
        let mut value = document(text).ok()?.1.to_serde_value()?;
        strip(&mut value);
        Some(value)
    };
    match (others(old), others(new)) {
        (Some(old), Some(new)) if old == new => Ok(()),
        _ => Err("the edit would change other entries".to_owned()),
    }
}
