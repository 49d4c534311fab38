//! Headers of code, language by language.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;
use waypost_context::Parser;

use crate::{page, taken};

fn headers(path: &str, text: &str) -> String {
    let extract = taken(&[(path, text)]);
    assert_eq!(extract.parser, Parser::Tree, "{path}");
    page(&extract)
}

#[test]
fn rust() {
    expect![[r#"
        [1-52] module src/log.rs
            Append-only records.

            Never rewritten.

            defines BYTES_MAX, Log, State, Sink, inner.deep, say
        [7-8] value src/log.rs::BYTES_MAX
            /// How many bytes at most.
            pub const BYTES_MAX: usize = 64 << 10;
        [10-16] type src/log.rs::Log
            /// A log.
            ///
            /// Open once.
            #[derive(Debug)]
            pub struct Log<T>
        [18-19] type src/log.rs::State
            // Not public.
            enum State
        [22-28] function src/log.rs::Log.open
            /// Opens it.
            pub fn open(path: T) -> io::Result<Self>
            where
                T: Copy,
        [30-30] function src/log.rs::Log.close
            fn close(self)
        [33-36] type src/log.rs::Sink
            pub trait Sink: Send
        [34-35] function src/log.rs::Sink.take
            /// Takes it.
            fn take(&mut self, it: u8);
        [39-39] function src/log.rs::inner.deep
            pub fn deep()
        [42-46] macro src/log.rs::say
            /// Says it.
            #[macro_export]
            macro_rules! say
    "#]]
    .assert_eq(&headers(
        "src/log.rs",
        r#"//! Append-only records.
//!
//! Never rewritten.

use std::io;

/// How many bytes at most.
pub const BYTES_MAX: usize = 64 << 10;

/// A log.
///
/// Open once.
#[derive(Debug)]
pub struct Log<T> {
    path: T,
}

// Not public.
enum State { A, B }

impl<T: Clone> Log<T> {
    /// Opens it.
    pub fn open(path: T) -> io::Result<Self>
    where
        T: Copy,
    {
        todo()
    }

    fn close(self) {}
}

pub trait Sink: Send {
    /// Takes it.
    fn take(&mut self, it: u8);
}

pub mod inner {
    pub fn deep() {}
}

/// Says it.
#[macro_export]
macro_rules! say {
    () => {};
}

#[cfg(test)]
mod tests {
    #[test]
    fn works() {}
}
"#,
    ));
}

#[test]
fn python() {
    expect![[r#"
        [1-31] module log.py
            Append-only records.

            defines BYTES_MAX, names, Log, typed, Name
        [4-4] value log.py::BYTES_MAX
            BYTES_MAX = 64
        [5-5] value log.py::names
            names: list[str] = []
        [9-26] type log.py::Log
            @dataclass(frozen=True)
            class Log(Base):
            """A log.

            Open once.
            """
        [18-23] function log.py::Log.open
            # Opens it.
            @classmethod
            async def open(cls, path: str) -> "Log":
            """Opens it."""
        [25-26] function log.py::Log.size
            @property
            def size(self):
        [29-29] function log.py::typed
            def typed():
        [31-31] type log.py::Name
            type Name = str
    "#]]
    .assert_eq(&headers(
        "log.py",
        r#""""Append-only records."""
import os

BYTES_MAX = 64
names: list[str] = []
lower = 1


@dataclass(frozen=True)
class Log(Base):
    """A log.

    Open once.
    """

    path: str

    # Opens it.
    @classmethod
    async def open(cls, path: str) -> "Log":
        """Opens it."""
        def inner():
            pass

    @property
    def size(self): return 1

if TYPE_CHECKING:
    def typed(): ...

type Name = str
"#,
    ));
}

#[test]
fn typescript_and_javascript() {
    expect![[r#"
        [1-26] module log.ts
            Append-only records.

            defines Log, Options, Name, State, twice, MAX, main, inner.deep, outer
        [5-13] type log.ts::Log
            /** A log. */
            export class Log<T> extends Base
        [8-11] function log.ts::Log.open
            /** Opens it. */
            static async open(path: string): Promise<Log>
        [12-12] function log.ts::Log.onClose
            onClose = (why: string) =>
        [15-15] type log.ts::Options
            export interface Options
        [16-16] type log.ts::Name
            export type Name = string | number;
        [17-17] type log.ts::State
            export enum State
        [19-20] function log.ts::twice
            /** Twice. */
            export const twice = (a: number): number =>
        [21-21] value log.ts::MAX
            export const MAX = 64;
        [22-22] function log.ts::main
            export default function main()
        [24-24] function log.ts::inner.deep
            export function deep(): void
        [26-26] function log.ts::outer
            declare function outer(a: number): void;
    "#]]
    .assert_eq(&headers(
        "log.ts",
        r#"// Append-only records.

import a from "a";

/** A log. */
export class Log<T> extends Base {
  private path = "";
  /** Opens it. */
  static async open(path: string): Promise<Log> {
    return null;
  }
  onClose = (why: string) => { };
}

export interface Options { path: string }
export type Name = string | number;
export enum State { A, B }

/** Twice. */
export const twice = (a: number): number => a * 2;
export const MAX = 64;
export default function main() {}
namespace inner {
  export function deep(): void {}
}
declare function outer(a: number): void;
"#,
    ));
    expect![[r#"
        [1-5] module log.jsx
            Shows it.

            defines View, exports.close, A
        [2-3] function log.jsx::View
            /** Shows it. */
            export function View({ a })
        [4-4] function log.jsx::exports.close
            exports.close = function (why)
        [5-5] type log.jsx::A
            class A
        [5-5] function log.jsx::A.run
            run()
    "#]]
    .assert_eq(&headers(
        "log.jsx",
        r#"
/** Shows it. */
export function View({ a }) { return <p>{a}</p>; }
exports.close = function (why) {};
class A { run() {} }
"#,
    ));
    expect![[r#"
        [1-3] module view.tsx
            Shows it.

            defines View
        [2-3] function view.tsx::View
            /** Shows it. */
            export const View = ({ a }: Props) =>
    "#]]
    .assert_eq(&headers(
        "view.tsx",
        r#"
/** Shows it. */
export const View = ({ a }: Props) => { return <p>{a}</p>; };
"#,
    ));
}

#[test]
fn go() {
    expect![[r#"
        [1-27] module log.go
            Package log appends records.

            defines Max, ErrFull, Log, Sink, Open, Log.Close
        [6-7] value log.go::Max
            // Max is the limit.
            const Max = 64
        [10-11] value log.go::ErrFull
            // ErrFull says it.
            ErrFull = errors.New("full")
        [14-17] type log.go::Log
            // Log is a log.
            type Log struct
        [19-19] type log.go::Sink
            type Sink interface
        [21-24] function log.go::Open
            // Open opens it.
            func Open(path string) (*Log, error)
        [26-27] function log.go::Log.Close
            // Close ends it.
            func (l *Log) Close() error
    "#]]
    .assert_eq(&headers(
        "log.go",
        r#"// Copyright 2026.

// Package log appends records.
package log

// Max is the limit.
const Max = 64

var (
	// ErrFull says it.
	ErrFull = errors.New("full")
)

// Log is a log.
type Log struct {
	path string
}

type Sink interface { Take() }

// Open opens it.
func Open(path string) (*Log, error) {
	return nil, nil
}

// Close ends it.
func (l *Log) Close() error { return nil }
"#,
    ));
}

#[test]
fn java() {
    expect![[r#"
        [1-26] module Log.java
            defines Log
        [6-26] type Log.java::Log
            /**
             * A log.
             */
            @Public
            public final class Log<T> extends Base implements Sink
        [11-12] value Log.java::Log.MAX
            /** The limit. */
            public static final int MAX = 64;
        [15-16] function Log.java::Log.Log
            /** Makes one. */
            public Log(String path)
        [18-23] function Log.java::Log.take
            /**
             * Takes it.
             */
            @Override
            public void take(T it) throws IOException
        [25-25] type Log.java::Log.State
            enum State
        [25-25] function Log.java::Log.State.run
            void run()
    "#]]
    .assert_eq(&headers(
        "Log.java",
        r#"/*
 * Licensed to the ASF
 */
package a.b;

/**
 * A log.
 */
@Public
public final class Log<T> extends Base implements Sink {
    /** The limit. */
    public static final int MAX = 64;
    private int size;

    /** Makes one. */
    public Log(String path) { }

    /**
     * Takes it.
     */
    @Override
    public void take(T it) throws IOException {
    }

    enum State { A; void run() {} }
}
"#,
    ));
}

#[test]
fn c_and_cpp() {
    expect![[r#"
        [1-29] module log.h
            log.h - records.

            defines LOG_MAX, MAX, log, entry, callback, log_count, log_open, log_size
        [6-6] macro log.h::LOG_MAX
            #define LOG_MAX 64
        [7-9] macro log.h::MAX
            /* The larger. */
            #define MAX(a, b) \
        [11-14] type log.h::log
            /* A log. */
            struct log
        [16-18] type log.h::entry
            typedef struct entry {…} entry;
        [20-20] type log.h::callback
            typedef int (*callback)(int);
        [22-22] value log.h::log_count
            extern int log_count;
        [23-24] function log.h::log_open
            /* Opens it. */
            struct log *log_open(const char *path);
        [26-28] function log.h::log_size
            static inline int log_size(struct log *l)
    "#]]
    .assert_eq(&headers(
        "log.h",
        r#"/* log.h - records.
 *
 * Copyright (c) 2026. */
#ifndef LOG_H
#define LOG_H
#define LOG_MAX 64
/* The larger. */
#define MAX(a, b) \
    ((a) > (b) ? (a) : (b))

/* A log. */
struct log {
    int fd;
};

typedef struct entry {
    int a;
} entry;

typedef int (*callback)(int);

extern int log_count; /* trailing */
/* Opens it. */
struct log *log_open(const char *path);

static inline int log_size(struct log *l) {
    return 1;
}
#endif
"#,
    ));
    expect![[r#"
        [1-24] module log.cpp
            defines app.Log, app.Name, app.Log.Log, app.Store.size
        [4-13] type log.cpp::app.Log
            // A log.
            template <typename T>
            class Log : public Base
        [8-9] function log.cpp::app.Log.Log
            // Opens it.
            explicit Log(const T& path);
        [10-10] function log.cpp::app.Log.size
            int size() const
        [15-15] type log.cpp::app.Name
            using Name = std::string;
        [17-19] function log.cpp::app.Log.Log
            template <typename T>
            Log<T>::Log(const T& path) : fd_(0)
        [21-23] function log.cpp::app.Store.size
            int Store::size() const
    "#]]
    .assert_eq(&headers(
        "log.cpp",
        r#"
namespace app {

// A log.
template <typename T>
class Log : public Base {
public:
    // Opens it.
    explicit Log(const T& path);
    int size() const { return 1; }
private:
    int fd_;
};

using Name = std::string;

template <typename T>
Log<T>::Log(const T& path) : fd_(0) {
}

int Store::size() const {
    return 1;
}
}
"#,
    ));
}

#[test]
fn c_sharp() {
    expect![[r#"
        [1-17] module Log.cs
            defines App.Logs.Log, App.Logs.State, App.Logs.ILog
        [3-14] type Log.cs::App.Logs.Log
            /// <summary>A log.</summary>
            [Serializable]
            public class Log : ILog
        [7-7] value Log.cs::App.Logs.Log.Max
            public const int Max = 64;
        [8-9] value Log.cs::App.Logs.Log.Size
            /// <summary>The size.</summary>
            public int Size
        [10-10] function Log.cs::App.Logs.Log.Log
            public Log(string path)
        [11-13] function Log.cs::App.Logs.Log.Take
            public async Task<int> Take<T>(T it) where T : class
        [15-15] type Log.cs::App.Logs.State
            public enum State
        [16-16] type Log.cs::App.Logs.ILog
            public interface ILog
        [16-16] function Log.cs::App.Logs.ILog.Take
            void Take(int it);
    "#]]
    .assert_eq(&headers(
        "Log.cs",
        r#"namespace App.Logs
{
    /// <summary>A log.</summary>
    [Serializable]
    public class Log : ILog
    {
        public const int Max = 64;
        /// <summary>The size.</summary>
        public int Size { get; set; }
        public Log(string path) { }
        public async Task<int> Take<T>(T it) where T : class
        {
        }
    }
    public enum State { A }
    public interface ILog { void Take(int it); }
}
"#,
    ));
}

#[test]
fn ruby() {
    expect![[r#"
        [1-19] module log.rb
            Append-only records.

            defines App
        [5-19] type log.rb::App
            module App
        [6-6] value log.rb::App.MAX
            MAX = 64
        [8-18] type log.rb::App.Log
            # A log.
            class Log < Base
        [11-13] function log.rb::App.Log.open
            def self.open(path)
        [15-17] function log.rb::App.Log.size
            def size
    "#]]
    .assert_eq(&headers(
        "log.rb",
        r#"# frozen_string_literal: true

# Append-only records.

module App
  MAX = 64

  # A log.
  class Log < Base
    # Opens it.
    def self.open(path)
      new(path)
    end

    def size
      1
    end
  end
end
"#,
    ));
}

#[test]
fn php_and_bash() {
    expect![[r#"
        [1-18] module log.php
            Append-only records.

            defines MAX, Log, helper
        [6-6] value log.php::MAX
            const MAX = 64;
        [8-16] type log.php::Log
            /** A log. */
            final class Log extends Base implements Sink
        [11-11] value log.php::Log.LIMIT
            const LIMIT = 1;
        [12-15] function log.php::Log.take
            /** Takes it. */
            public function take(int $it): void
        [18-18] function log.php::helper
            function helper($a)
    "#]]
    .assert_eq(&headers(
        "log.php",
        r#"<?php
// Append-only records.

namespace App\Logs;

const MAX = 64;

/** A log. */
final class Log extends Base implements Sink
{
    const LIMIT = 1;
    /** Takes it. */
    public function take(int $it): void
    {
    }
}

function helper($a) { return $a; }
"#,
    ));
    expect![[r#"
        [1-14] module log.sh
            Rotates logs.

            defines MAX, DIR, rotate, main
        [6-6] value log.sh::MAX
            MAX=64
        [7-7] value log.sh::DIR
            export DIR="/var"
        [10-13] function log.sh::rotate
            # Rotates one.
            rotate()
        [14-14] function log.sh::main
            function main
    "#]]
    .assert_eq(&headers(
        "log.sh",
        r#"#!/usr/bin/env bash
# Rotates logs.

set -e

MAX=64
export DIR="/var"
local_name=1

# Rotates one.
rotate() {
  mv "$1" "$1.1"
}
function main { rotate a; }
"#,
    ));
}

#[test]
fn a_language_without_a_grammar_goes_by_its_lines() {
    let extract = taken(&[(
        "Log.scala",
        "/* Licensed to the ASF */\npackage a\n\n/** A log. */\nclass Log(dir: File) {\n  def size: Int = 1\n}\n",
    )]);
    assert_eq!(extract.parser, Parser::Lines);
    expect![[r#"
        [1-7] module Log.scala
            defines Log
        [4-5] type Log.scala::Log
            /** A log. */
            class Log(dir: File)
        [6-6] function Log.scala::Log.size
            def size: Int = 1
    "#]]
    .assert_eq(&page(&extract));
}

#[test]
fn what_stands_for_it_in_a_vector_is_signature_and_first_paragraph() {
    let extract = taken(&[(
        "a.rs",
        "/// Opens it.\n/// Slowly.\n///\n/// # Errors\npub fn open(a: u8) {}\n",
    )]);
    assert_eq!(
        extract.chunks[1].embedded(),
        "a.rs::open\npub fn open(a: u8)\n/// Opens it.\n/// Slowly."
    );
    let long =
        format!("/// {}.\npub fn a({}) {{}}\n", "é\n/// ".repeat(1_500), "b: u8,\n".repeat(300));
    let chunk = &taken(&[("a.rs", &long)]).chunks[1];
    assert!(chunk.content.len() <= 2_700, "{}", chunk.content.len());
    assert!(chunk.embedded().len() <= 2_800);
}
