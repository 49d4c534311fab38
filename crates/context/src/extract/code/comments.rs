//! The comment at the start of a file: what it is about, without comment marks and licence.

use crate::Language;

/// The most lines examined.
const LINES_MAX: usize = 400;

/// The leading comments of a file (including Rust's `//!` and a Python module's docstring) as plain
/// text, in separate paragraphs.
pub(super) fn leading(text: &str, language: Language) -> String {
    let row = language.row();
    let mut blocks: Vec<Vec<&str>> = vec![Vec::new()];
    let mut lines = text.lines().take(LINES_MAX).peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            blocks.push(Vec::new());
            continue;
        }
        if is_preamble(trimmed) {
            continue;
        }
        // The docs of the first definition belong to it.
        if language == Language::Rust && trimmed.starts_with("///") {
            break;
        }
        let opened = row.block.iter().find_map(|(open, close)| {
            // `r"""` and the like.
            let rest = trimmed
                .strip_prefix(['r', 'R', 'u', 'b'])
                .filter(|rest| ["\"\"\"", "'''"].iter().any(|mark| rest.starts_with(mark)))
                .unwrap_or(trimmed);
            rest.strip_prefix(open).map(|rest| (rest, *close))
        });
        let block = blocks.last_mut();
        match (opened, block) {
            (Some((rest, close)), Some(block)) => {
                if let Some((inside, _)) = rest.split_once(close) {
                    block.push(inside);
                    continue;
                }
                block.push(rest);
                for line in lines.by_ref() {
                    if let Some((inside, _)) = line.split_once(close) {
                        block.push(inside);
                        break;
                    }
                    block.push(line);
                }
            }
            (None, Some(block)) if row.line.iter().any(|line| trimmed.starts_with(line)) => {
                block.push(line);
            }
            _ => break,
        }
    }
    let mut paragraphs: Vec<String> = Vec::new();
    for block in &blocks {
        paragraphs.extend(plain(block));
    }
    paragraphs.join("\n\n")
}

/// Lines that may precede the first comment.
fn is_preamble(line: &str) -> bool {
    line.starts_with("#!") && !line.starts_with("#![")
        || line.starts_with("<?php")
        || line.starts_with("# -*-")
        || line.starts_with("# frozen_string_literal")
        || matches!(
            line,
            "\"use strict\";" | "'use strict';" | "set -e" | "from __future__ import annotations"
        )
}

/// The paragraphs of a comment without its marks, up to the start of a licence.
fn plain(lines: &[&str]) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut begins = true;
    for line in lines {
        let text = line.trim();
        let marks =
            |c: char| matches!(c, '/' | '*' | '#' | '!' | ';' | '%' | '-' | '=' | '"' | '\'');
        let text = match text.trim_start_matches(marks) {
            // `*bold*` and `-x` are not comment marks.
            rest if rest.starts_with(' ') || rest.is_empty() || rest.len() == text.len() => rest,
            _ => text.trim_start_matches(['/', '*', '#', '!']),
        };
        let text = text.trim().trim_end_matches("*/").trim_end();
        if text.is_empty() {
            begins = true;
            continue;
        }
        match paragraphs.last_mut() {
            Some(last) if !begins => {
                last.push('\n');
                last.push_str(text);
            }
            _ => paragraphs.push(text.to_owned()),
        }
        begins = false;
    }
    if let Some(licence) = paragraphs.iter().position(|paragraph| is_licence(paragraph)) {
        paragraphs.truncate(licence);
    }
    paragraphs
}

pub(super) fn is_licence(text: &str) -> bool {
    if text.is_empty() {
        return false;
    }
    [
        "opyright",
        "SPDX-",
        "icensed ",
        "All rights reserved",
        "icense as ",
        "COPYRIGHT",
        "Permission is hereby",
        "LICENSE",
        "licence that",
    ]
    .iter()
    .any(|it| text.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leading_comment_is_read_without_marks() {
        let cases = [
            (
                Language::Rust,
                "//! Opens files.\n//!\n//! Twice.\n\nuse a;\n// no",
                "Opens files.\n\nTwice.",
            ),
            (Language::Rust, "/// Of the item.\nfn a() {}", ""),
            (Language::Rust, "#![allow(x)]\n", ""),
            (
                Language::C,
                "/* net.c - sockets\n *\n * Copyright (c) 2009\n * All rights reserved.\n */\n#include <a.h>",
                "net.c - sockets",
            ),
            (
                Language::Java,
                "/*\n * Licensed to the ASF\n *\n * Unless required\n */\npackage a;",
                "",
            ),
            (
                Language::Python,
                "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\"\"\"One line.\"\"\"\nimport a",
                "One line.",
            ),
            (
                Language::Python,
                "# Copyright 2020\n\nr'''\nWhat it does.\n\nMore.\n'''\n",
                "What it does.\n\nMore.",
            ),
            (Language::Go, "// Package a does.\npackage a", "Package a does."),
            (Language::Php, "<?php\n/**\n * Users.\n */\nnamespace A;", "Users."),
            (Language::Sql, "-- Tables of users.\nCREATE TABLE a;", "Tables of users."),
            (Language::JavaScript, "/* never closed\n * text", "never closed\ntext"),
        ];
        for (language, text, expected) in cases {
            assert_eq!(leading(text, language), expected, "{text}");
        }
    }
}
