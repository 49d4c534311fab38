//! A summary as JSON, whose length the budget limits.

use serde_json::{Map, Value, json};

use super::extract::{Control, ControlState, ErrorKind, Form, Link, PageError, Place, Table};
use super::page::{Content, Flag, Login, Part, Removed, Summary};
use crate::address::without_login;
use crate::{Dialog, Download};

/// The whole summary.
pub(crate) fn summary(summary: &Summary) -> Value {
    let mut lists = Map::new();
    for (list, entries) in Part::LISTS.iter().zip(entries(&summary.content)) {
        lists.insert(list.as_str().to_owned(), entries.into());
    }
    lists.insert(Part::Text.as_str().to_owned(), summary.content.text.as_str().into());
    let mut truncated = Map::new();
    for cut in &summary.cuts {
        let counts = json!({ "shown": cut.shown, "of": cut.of });
        truncated.insert(cut.part.as_str().to_owned(), counts);
    }
    if let Some(limit) = &summary.limit {
        truncated.insert("limit".to_owned(), limit.as_str().into());
    }
    let mut shown = head(summary);
    shown["dom_summary"] = lists.into();
    shown["truncated"] = truncated.into();
    shown["tokens"] = summary.tokens.into();
    shown
}

/// Everything but the content, and what was left out of it.
pub(super) fn head(summary: &Summary) -> Value {
    let frames: Vec<Value> = summary
        .frames
        .iter()
        .map(|it| {
            let mut frame = json!({ "url": without_login(&it.url) });
            if let Some(selector) = &it.selector {
                frame["selector"] = selector.as_str().into();
            }
            frame
        })
        .collect();
    let mut shown = json!({
        "url": without_login(&summary.url),
        "title": summary.title,
        "dom_summary": {},
        "tab": summary.tab.0,
        "mode": summary.mode.as_str(),
        "engine": summary.engine,
        "trust": "untrusted",
        "truncated": {},
        "frames": frames,
        "dialogs": summary.dialogs.iter().map(dialog).collect::<Vec<_>>(),
        "downloads": summary.downloads.iter().map(download).collect::<Vec<_>>(),
        "auth": login(&summary.auth),
        "flags": summary.flags.iter().map(flag).collect::<Vec<_>>(),
        "tokens": 0,
    });
    if let Some(status) = summary.status {
        shown["status"] = status.into();
    }
    if summary.loading {
        shown["loading"] = true.into();
    }
    if let Some(gone) = &summary.removed {
        shown["removed"] = removed(gone);
        let names = |parts: &[Part]| parts.iter().map(|it| it.as_str()).collect::<Vec<_>>();
        if gone.reloaded {
            shown["reloaded"] = true.into();
        }
        for (name, parts) in [("reordered", &gone.reordered), ("partial", &gone.partial)] {
            if !parts.is_empty() {
                shown[name] = names(parts).into();
            }
        }
    }
    shown
}

/// The entries of each list.
pub(super) fn entries(content: &Content) -> [Vec<Value>; 6] {
    [
        content.headings.iter().map(|it| it.text.as_str().into()).collect(),
        content.forms.iter().map(form).collect(),
        content.links.iter().map(link).collect(),
        content.tables.iter().map(table).collect(),
        content.controls.iter().map(control).collect(),
        content.errors.iter().map(error).collect(),
    ]
}

pub(crate) fn dialog(dialog: &Dialog) -> Value {
    json!({ "type": dialog.kind, "message": dialog.message, "accepted": dialog.accepted })
}

pub(crate) fn download(download: &Download) -> Value {
    json!({ "name": download.name, "url": download.url, "state": "refused" })
}

fn login(login: &Login) -> Value {
    let mut shown = json!({ "state": login.state.as_str() });
    if let Some((change, ago)) = &login.last {
        let signals: Vec<&str> = change.signals.iter().map(|it| it.as_str()).collect();
        shown["changedMsAgo"] = (*ago).into();
        shown["origin"] = change.origin.as_str().into();
        shown["signals"] = signals.into();
    }
    shown
}

fn flag(flag: &Flag) -> Value {
    match flag {
        Flag::HiddenText { reason, count } => {
            json!({ "type": "hidden_text", "reason": reason, "count": count })
        }
        Flag::UnseenCharacters(count) => json!({ "type": "unseen_characters", "count": count }),
        Flag::AddressesAssistants => json!({ "type": "addresses_assistants" }),
    }
}

fn removed(removed: &Removed) -> Value {
    let mut shown = Map::new();
    for (list, names) in &removed.entries {
        shown.insert(list.as_str().to_owned(), names.as_slice().into());
    }
    if let Some(text) = &removed.text {
        shown.insert(Part::Text.as_str().to_owned(), text.as_str().into());
    }
    if let Some(title) = &removed.title {
        shown.insert("title".to_owned(), title.as_str().into());
    }
    if removed.more > 0 {
        shown.insert("more".to_owned(), removed.more.into());
    }
    shown.into()
}

fn form(form: &Form) -> Value {
    let names: Vec<&str> = form.fields.iter().map(|it| it.name.as_str()).collect();
    let refs: Vec<&str> = form.fields.iter().map(|it| it.place.reference.as_str()).collect();
    let selectors: Vec<Option<&str>> =
        form.fields.iter().map(|it| it.place.selector.as_deref()).collect();
    json!({
        "id": form.id,
        "fields": names,
        "refs": refs,
        "selectors": selectors,
        "ref": form.place.reference,
        "selector": form.place.selector,
    })
}

fn link(link: &Link) -> Value {
    placed(json!({ "text": link.text, "href": link.href }), &link.place)
}

fn table(table: &Table) -> Value {
    let mut shown = json!({
        "id": table.id,
        "rows": table.rows,
        "ref": table.place.reference,
        "selector": table.place.selector,
    });
    if !table.columns.is_empty() {
        shown["columns"] = json!(table.columns);
    }
    if !table.caption.is_empty() {
        shown["caption"] = table.caption.as_str().into();
    }
    shown
}

fn control(control: &Control) -> Value {
    let mut shown = placed(json!({ "type": control.kind, "text": control.text }), &control.place);
    let ControlState { filled, value, checked, options, option_count, expanded, .. } =
        &control.state;
    let known = |is_so: bool| is_so.then_some(Value::Bool(true));
    let members = [
        ("disabled", known(control.state.disabled)),
        ("secret", known(control.state.secret)),
        ("filled", filled.map(Value::Bool)),
        ("value", value.as_deref().map(Value::from)),
        ("checked", checked.map(Value::Bool)),
        ("options", options.as_deref().map(Value::from)),
        ("optionCount", option_count.map(Value::from)),
        ("required", known(control.state.required)),
        ("invalid", known(control.state.invalid)),
        ("expanded", expanded.map(Value::Bool)),
        ("selected", known(control.state.selected)),
        ("pressed", known(control.state.pressed)),
        ("readOnly", known(control.state.read_only)),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            shown[name] = value;
        }
    }
    shown
}

fn error(error: &PageError) -> Value {
    let kind = match error.kind {
        ErrorKind::Console => "console",
        ErrorKind::Request => "request",
        ErrorKind::Message => "message",
    };
    let mut shown = json!({ "type": kind, "text": error.text });
    if let Some(url) = &error.url {
        shown["url"] = url.as_str().into();
    }
    if let Some(status) = error.status {
        shown["status"] = status.into();
    }
    match &error.place {
        Some(place) => placed(shown, place),
        None => shown,
    }
}

fn placed(mut shown: Value, place: &Place) -> Value {
    shown["ref"] = place.reference.as_str().into();
    if let Some(selector) = &place.selector {
        shown["selector"] = selector.as_str().into();
    }
    shown
}
