"""Makes reference.jsonl (texts) and reference.f32 (their vectors), the fixtures of tests/it/reference.rs.

An implementation of its own, from the published definitions: BERT's basic and WordPiece tokenisers
(Devlin et al., 2018) in plain Python, the network in numpy with 64-bit floats, then what
sentence-transformers does with this model: cut to 256 terms, mean over the terms, unit length.
It shares no code with candle or with the tokenizers library. If that library is installed, the
terms are compared with it as well.

    python3 -m venv venv && venv/bin/pip install numpy safetensors tokenizers
    venv/bin/python make_reference.py ~/.cache/waypost/models/all-MiniLM-L6-v2
"""

import json
import math
import random
import re
import sys
import unicodedata
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

HERE = Path(__file__).resolve().parent
LENGTH_MAX = 256
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

# ---------------------------------------------------------------- texts


def texts():
    rng = random.Random(20)
    people = ["the keeper", "our neighbour", "a tired engineer", "Maria", "the night shift", "Dr. Okafor", "my aunt"]
    acts = ["repaired", "forgot", "measured", "wrote about", "painted", "lost", "explained", "sold", "photographed"]
    things = ["the old lighthouse", "a broken compass", "three database backups", "the index of the library",
              "her grandmother's recipe", "the last train home", "a leaking roof", "the quarterly report",
              "an unread letter", "the queue that never drained"]
    ends = ["before the storm.", "on a Tuesday in March!", "and nobody noticed", "for 42 euros and 7 cents.",
            "because the tests had failed again.", "while it rained; then it stopped.", "?", "at 07:30 (UTC+2).",
            "\"just in case\", as they said.", "-- twice."]

    def sentence():
        return " ".join(rng.choice(part) for part in (people, acts, things, ends))

    out = [sentence() for _ in range(60)]
    out += ["a", "I", "water", "Waypost", "unhappiness", "internationalisation", "supercalifragilistic", "x" * 99,
            "x" * 100, "x" * 101, "y" * 5000, "0", "3.14159", "1e-12", "2026-11-21T10:00:00.000Z", "don't", "e-mail",
            "C++", "#1", "a b"]
    out += [" ".join(sentence() for _ in range(rng.randint(25, 90))) for _ in range(20)]
    # Just below, at and just above the length at which a text is cut: one term a word, two marks.
    out += [" ".join(rng.choice(["sea", "ship", "light", "stone", "wind"]) for _ in range(n))
            for n in (1, 2, 3, 30, 97, 126, 127, 200, 252, 253, 254, 255, 256, 257, 300)]
    out += ["今日は天気がいいですね。", "灯台守は毎晩明かりをつける。", "データベースの障害から復旧する手順", "北京是中国的首都", "灯塔看守人",
            "如何从备份中恢复数据库?", "서울의 봄은 아름답다", "등대지기가 불을 켠다", "Маяк стоит на скале.", "Кто зажигает огонь по ночам?",
            "حارس المنارة يشعل الضوء", "שומר המגדלור", "प्रकाशस्तंभ का रखवाला", "ผู้ดูแลประภาคาร", "Ο φύλακας του φάρου",
            "người gác hải đăng", "Gözlemevi İstanbul'da", "Ёлка и ёж", "mixed 日本語 and English テキスト", "東京 2020 オリンピック"]
    out += ["🙂", "🚢🌊💡", "ship it 🚀🚀🚀", "👩‍👩‍👧‍👦 family", "flag 🇯🇵 and 🏴‍☠️", "thumbs 👍🏽 up", "❤️", "☕ at 7", "✅ done ❌ failed", "a🙂b"]
    out += ["fn main() { println!(\"hello\"); }", "let x: Vec<Option<&str>> = vec![None; 3];", "SELECT * FROM t WHERE a = 'b';",
            "for (int i = 0; i < n; i++) sum += a[i];", "def add(a, b):\n    return a + b\n", "parseHttpURL(snake_case_name)",
            "https://example.org/a/b?c=d&e=f#g", "{\"key\": [1, 2.5, null, true]}", "<p class=\"x\">Hi &amp; bye</p>",
            "0xDEADBEEF", "git rebase -i HEAD~3", "std::collections::BTreeMap::new()", "a->b->c", "x = y ** 2 % 7",
            "ERROR 2026-11-21 connection refused (os error 111)", "C:\\Users\\me\\file.txt", "/usr/local/bin/tool --flag=value",
            "if err != nil { return err }", "$$\\sum_{i=1}^{n} x_i^2$$", "key: value\nlist:\n  - one\n  - two\n"]
    out += ["", " ", "\n\t\r\n", "\u200b", "\u00a0\u3000", ".", "...", "?!?!", "-", "\u0007bell", "\ufeffmark", "a\u0000b", "~" * 300, "()[]{}", "\u2028line\u2029"]
    out += ["café", "cafe\u0301", "naïve façade", "ÅNGSTRÖM", "straße", "ﬁne ligature", "Ｆｕｌｌｗｉｄｔｈ", "Ǆ ǅ ǆ", "Zalgo t\u0335\u0321e\u0334x\u0336t", "½ ² ₂ №"]
    out += ["[CLS] in a text", "a [MASK] b", "ends with [SEP]", "[UNK]", "[pad] in lower case",
            "“curly” ‘quotes’ — and – dashes…", "tab\tseparated\tvalues", "line one\nline two\n\nline four",
            "ALL CAPS SHOUTING", "the the the the the"]
    assert len(out) == 200, len(out)
    return out


# ---------------------------------------------------------------- terms


def is_punctuation(c):
    return 33 <= ord(c) <= 47 or 58 <= ord(c) <= 64 or 91 <= ord(c) <= 96 or 123 <= ord(c) <= 126 \
        or unicodedata.category(c).startswith("P")


def is_cjk(c):
    return any(a <= ord(c) <= b for a, b in (
        (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
        (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)))


def words(text):
    cleaned = []
    for c in text:
        if c in "\t\n\r" or unicodedata.category(c) == "Zs":
            cleaned.append(" ")
        elif c in "\0\ufffd" or unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co"):
            continue
        else:
            cleaned.append(f" {c} " if is_cjk(c) else c)
    stripped = "".join(c for c in unicodedata.normalize("NFD", "".join(cleaned)) if unicodedata.category(c) != "Mn")
    # Lower case character by character, as BERT has it: no final sigma.
    lowered = "".join(c.lower() for c in stripped)
    for word in lowered.split():
        yield from split_punctuation(word)


def split_punctuation(word):
    part = ""
    for c in word:
        if is_punctuation(c):
            if part:
                yield part
            yield c
            part = ""
        else:
            part += c
    if part:
        yield part


def pieces(word, vocabulary):
    if len(word) > 100:
        return ["[UNK]"]
    found, start = [], 0
    while start < len(word):
        end = len(word)
        while end > start and ("##" if start else "") + word[start:end] not in vocabulary:
            end -= 1
        if end == start:
            return ["[UNK]"]
        found.append(("##" if start else "") + word[start:end])
        start = end
    return found


def terms(text, vocabulary):
    found = []
    for part in re.split("(" + "|".join(map(re.escape, SPECIAL)) + ")", text):
        if part in SPECIAL:
            found.append(part)
        else:
            for word in words(part):
                found += pieces(word, vocabulary)
    return [vocabulary[it] for it in ["[CLS]", *found[:LENGTH_MAX - 2], "[SEP]"]]


# ---------------------------------------------------------------- network

ERF = np.vectorize(math.erf, otypes=[np.float64])


def layer_norm(x, w, name, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def embed(ids, w, config):
    heads, size = config["num_attention_heads"], config["hidden_size"]
    epsilon = config["layer_norm_eps"]
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:len(ids)] \
        + w["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(x, w, "embeddings.LayerNorm", epsilon)
    for layer in range(config["num_hidden_layers"]):
        p = f"encoder.layer.{layer}."
        q, k, v = (linear(x, w, p + "attention.self." + n).reshape(len(ids), heads, -1).transpose(1, 0, 2)
                   for n in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(size // heads)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        attended = (scores @ v).transpose(1, 0, 2).reshape(len(ids), size)
        x = layer_norm(linear(attended, w, p + "attention.output.dense") + x, w, p + "attention.output.LayerNorm", epsilon)
        inner = linear(x, w, p + "intermediate.dense")
        inner = inner * 0.5 * (1 + ERF(inner / math.sqrt(2)))
        x = layer_norm(linear(inner, w, p + "output.dense") + x, w, p + "output.LayerNorm", epsilon)
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def main():
    model = Path(sys.argv[1]).expanduser()
    config = json.loads((model / "config.json").read_text())
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    weights = {name: tensor.astype(np.float64) for name, tensor in load_file(model / "model.safetensors").items()
               if tensor.dtype != np.int64}
    rows = texts()
    ids = [terms(text, vocabulary) for text in rows]
    try:
        from tokenizers import Tokenizer
    except ImportError:
        print("tokenizers is not installed: terms not compared")
    else:
        library = Tokenizer.from_file(str(model / "tokenizer.json"))
        library.enable_truncation(LENGTH_MAX)
        library.no_padding()
        for text, mine in zip(rows, ids):
            if library.encode(text).ids != mine:
                print("terms differ:", repr(text[:60]), library.encode(text).tokens[:20], mine[:20])
    vectors = np.array([embed(row, weights, config) for row in ids], dtype="<f4")
    vectors.tofile(HERE / "reference.f32")
    with open(HERE / "reference.jsonl", "w", encoding="utf-8") as file:
        for text, row in zip(rows, ids):
            file.write(json.dumps({"text": text, "terms": len(row)}, ensure_ascii=True) + "\n")
    print(len(rows), "texts;", sum(len(row) == LENGTH_MAX for row in ids), "cut to the limit; shape", vectors.shape)


if __name__ == "__main__":
    main()
