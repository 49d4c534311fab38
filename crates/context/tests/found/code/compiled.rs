//! Headers of compiled languages.

use expect_test::expect;

use super::headers;

#[test]
fn rust() {
    expect![[r#"
        [1-64] module src/log.rs
            Append-only records.

            Never rewritten.

            defines BYTES_MAX, Log, State, Sink, inner.deep, say, outside_of_tests
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
        [63-64] function src/log.rs::outside_of_tests
            #[cfg(not(any(test)))]
            fn outside_of_tests()
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

#[cfg(all(test, unix))]
/// A helper of tests.
struct Helper;

#[cfg(test)]
impl Log {
    fn broken() {}
}

#[cfg(not(any(test)))]
fn outside_of_tests() {}
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
            #define MAX(a, b)
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
