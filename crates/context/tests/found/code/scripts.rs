//! Headers of scripting languages.

use expect_test::expect;

use super::headers;

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
        [10-13] function log.rb::App.Log.open
            # Opens it.
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
