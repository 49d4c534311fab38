"""Makes the folders beside it: a tiny model of each family, with what the reference computes with it.

The reference is the library that defines these networks. Each model has seeded random weights, a
head for pairs of texts, and a tokenizer of its family's kind, trained on the texts below. The
weights are large, so that a mistake in a network turns its vectors. `expected.json` has the vectors
of texts (mean or first token, unit length, prompts in front, cut to the model's length) and the
scores of pairs. Training the tokenizers depends on the order of hash maps, so each run makes other
vocabularies, and other vectors with them: commit all files of one run.

    python3 -m venv venv && venv/bin/pip install torch==2.15 transformers==5.23 tokenizers==0.23.3
    venv/bin/python make.py
"""

import json
import shutil
from pathlib import Path

import torch
import transformers as t
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).resolve().parent
WIDTH, HEADS, INNER, LENGTH, WORDS = 32, 2, 48, 40, 300

TEXTS = [
    "the keeper lights the lamp",
    "",
    "a",
    "Straße, café, naïve: ΑΒΓ",
    "Маяк стоит на скале. Ο φύλακας του φάρου",
    "حارس المنارة يشعل الضوء שומר המגדלור",
    "प्रकाशस्तंभ का रखवाला ผู้ดูแลประภาคาร",
    "灯台守は毎晩明かりをつける。灯塔看守人 등대지기가 불을 켠다",
    "fn main() { println!(\"hello\"); }",
    "🚢🌊 ship it\n\n\ttwice",
    "the storm took the roof and the boat " * 12,
    "light " * 36,
    "<pad> [PAD] <s> [CLS] in a text",
]
PAIRS = [
    ("who lights the lamp", ["the keeper lights the lamp", "the boat is lost", "", "storm " * 60]),
    ("storm roof " * 30, ["the storm took the roof and the boat " * 12, "灯塔看守人"]),
    ("", ["a", ""]),
]


def word_piece(marks, pair):
    tokenizer = Tokenizer(models.WordPiece(unk_token=marks[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # RoBERTa's marks are in the order of its vocabulary.
    special = [marks[it] for it in ((0, 1, 2, 3, 4) if marks is BERT else (2, 0, 3, 1, 4))]
    trainer = trainers.WordPieceTrainer(vocab_size=WORDS, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = template(tokenizer, marks, pair)
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def template(tokenizer, marks, pair):
    _, _, cls, sep, _ = marks
    return processors.TemplateProcessing(
        single=f"{cls} $A {sep}", pair=pair.replace("CLS", cls).replace("SEP", sep),
        special_tokens=[(it, tokenizer.token_to_id(it)) for it in (cls, sep)])


def byte_pairs(special, processor):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=WORDS, special_tokens=special, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processor(tokenizer)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    trainer = trainers.UnigramTrainer(vocab_size=WORDS, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                                      unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = template(tokenizer, ROBERTA, PAIR_ROBERTA)
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def roberta_ends(tokenizer):
    ends = [(it, tokenizer.token_to_id(it)) for it in ("</s>", "<s>")]
    return processors.RobertaProcessing(*ends, trim_offsets=True, add_prefix_space=False)


BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
PAIR_TYPED, PAIR_BERT, PAIR_ROBERTA = "CLS $A SEP $B:1 SEP:1", "CLS $A SEP $B SEP", "CLS $A SEP SEP $B SEP"
SIZES = dict(hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS, intermediate_size=INNER, num_labels=1)
E5 = {"prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": None}
BGE = {"prompts": {"query": "find the passage: "}}
DEFAULT = {"prompts": {"task": "storm: "}, "default_prompt_name": "task"}

# Folder, tokenizer, its marks, configuration, network, pooling, prompts.
FAMILIES = [
    ("bert", lambda: word_piece(BERT, PAIR_TYPED), BERT, lambda n: t.BertConfig(
        vocab_size=n, max_position_embeddings=LENGTH, **SIZES), t.BertForSequenceClassification, "cls", BGE),
    ("roberta", lambda: byte_pairs(["<s>", "<pad>", "</s>", "<unk>", "<mask>"], roberta_ends), ROBERTA,
     lambda n: t.RobertaConfig(vocab_size=n, max_position_embeddings=LENGTH + 2, type_vocab_size=1, layer_norm_eps=1e-5,
                               pad_token_id=1, bos_token_id=0, eos_token_id=2, **SIZES),
     t.RobertaForSequenceClassification, "mean", DEFAULT),
    ("xlm-roberta", unigram, ROBERTA,
     lambda n: t.XLMRobertaConfig(vocab_size=n, max_position_embeddings=LENGTH + 2, type_vocab_size=1,
                                  layer_norm_eps=1e-5, hidden_act="gelu_new", pad_token_id=1, bos_token_id=0,
                                  eos_token_id=2, **SIZES),
     t.XLMRobertaForSequenceClassification, "mean", E5),
    ("mpnet", lambda: word_piece(ROBERTA, PAIR_ROBERTA), ROBERTA,
     lambda n: t.MPNetConfig(vocab_size=n, max_position_embeddings=LENGTH + 2, layer_norm_eps=1e-5, pad_token_id=1,
                             bos_token_id=0, eos_token_id=2, **SIZES),
     t.MPNetForSequenceClassification, "mean", None),
    ("distilbert", lambda: word_piece(BERT, PAIR_TYPED), BERT,
     lambda n: t.DistilBertConfig(vocab_size=n, max_position_embeddings=LENGTH, dim=WIDTH, n_layers=2, n_heads=HEADS,
                                  hidden_dim=INNER, num_labels=1),
     t.DistilBertForSequenceClassification, "mean", None),
    ("modernbert", lambda: byte_pairs(list(BERT), lambda it: template(it, BERT, PAIR_BERT)), BERT,
     lambda n: t.ModernBertConfig(vocab_size=n, max_position_embeddings=LENGTH, local_attention=12,
                                  global_attn_every_n_layers=2, classifier_pooling="mean",
                                  pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3,
                                  rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 90.0},
                                                   "sliding_attention": {"rope_type": "default", "rope_theta": 20.0}},
                                  **SIZES),
     t.ModernBertForSequenceClassification, "cls", None),
]


def scatter(network, seed):
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weights in network.named_parameters():
            numbers = torch.randn(weights.shape, generator=random)
            is_scale = name.endswith("weight") and weights.dim() == 1
            weights.copy_(1 + 0.2 * numbers if is_scale else 0.35 * numbers)


def vector(network, tokenizer, text, pooling):
    inputs = tokenizer(text, truncation=True, max_length=LENGTH, return_tensors="pt")
    hidden = network.base_model(**inputs).last_hidden_state[0]
    pooled = hidden[0] if pooling == "cls" else hidden.mean(0)
    return torch.nn.functional.normalize(pooled, dim=0)


def prompt(settings, names):
    prompts = (settings or {}).get("prompts", {})
    named = [it for it in names if it in prompts] or [(settings or {}).get("default_prompt_name")]
    return prompts.get(named[0], "")


def make(seed, name, tokenizer, marks, config, network, pooling, prompts):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tokenizer = tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), marks))
    inputs = ["input_ids", "attention_mask"] + (["token_type_ids"] if name == "bert" else [])
    fast = t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=inputs, **names)
    network = network(config(tokenizer.get_vocab_size())).eval()
    scatter(network, seed)
    network.save_pretrained(folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": LENGTH}))
    (folder / "1_Pooling").mkdir()
    modes = {"pooling_mode_cls_token": pooling == "cls", "pooling_mode_mean_tokens": pooling == "mean"}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    if prompts:
        (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))

    def vectors(before):
        return [[round(it, 7) for it in vector(network, fast, before + text, pooling).tolist()] for text in TEXTS]

    pairs = []
    for query, passages in PAIRS:
        scores = []
        for passage in passages:
            # In lists, as a cross-encoder is used: alone, an empty passage would count as none.
            inputs = fast([query], [passage], truncation="longest_first", max_length=LENGTH, return_tensors="pt")
            scores.append(round(torch.sigmoid(network(**inputs).logits)[0, 0].item(), 7))
        pairs.append({"query": query, "passages": passages, "scores": scores})
    expected = {"texts": TEXTS, "passages": vectors(prompt(prompts, ["document", "passage", "corpus"])),
                "queries": vectors(prompt(prompts, ["query"])), "pairs": pairs}
    (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=True))
    print(name, sum(it.stat().st_size for it in folder.rglob("*") if it.is_file()), "bytes",
          [it["scores"] for it in pairs])


def main():
    torch.set_num_threads(1)
    with torch.no_grad():
        for seed, family in enumerate(FAMILIES):
            make(seed, *family)


if __name__ == "__main__":
    main()
