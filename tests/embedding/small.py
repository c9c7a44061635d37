"""Sentence models small enough to compute by hand, saved as sentence-transformers saves them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

WORDS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *("a", "price", "is", "one", "of", "the", "two", "months", "we", "pay", "it", "for", "refund", "query"),
)
Tensor = NDArray[np.float32]


@dataclass
class Small:
    """A model to save. The first values are of `config.json`; `files` are further JSON files by their names."""

    model_type: str = "bert"
    hidden_act: str = "gelu"
    width: int = 8
    heads: int = 2
    layers: int = 2
    inner: int = 12
    positions: int = 24
    config: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    before: str = ""
    seed: int = 0
    weights: dict[str, Tensor] = field(init=False)

    def __post_init__(self) -> None:
        """Draw the weights."""
        draw = np.random.default_rng(self.seed)
        self.weights = {
            name: draw.normal(1.0 if "LayerNorm.weight" in name else 0.0, 0.5, sizes).astype(np.float32)
            for name, sizes in self.sizes().items()
        }

    def sizes(self) -> dict[str, tuple[int, ...]]:
        """Return the sizes of every tensor by its name."""
        width, inner = self.width, self.inner
        found: dict[str, tuple[int, ...]] = {
            "embeddings.word_embeddings.weight": (len(WORDS), width),
            "embeddings.position_embeddings.weight": (self.positions, width),
            "embeddings.token_type_embeddings.weight": (2, width),
        }
        linear: dict[str, tuple[int, ...]] = {}
        norms = ["embeddings.LayerNorm"]
        for number in range(self.layers):
            layer = f"encoder.layer.{number}."
            linear |= {f"{layer}attention.self.{part}": (width, width) for part in ("query", "key", "value")}
            linear[f"{layer}attention.output.dense"] = (width, width)
            linear[f"{layer}intermediate.dense"] = (inner, width)
            linear[f"{layer}output.dense"] = (width, inner)
            norms += [f"{layer}attention.output.LayerNorm", f"{layer}output.LayerNorm"]
        found |= {f"{name}.weight": sizes for name, sizes in linear.items()}
        found |= {f"{name}.bias": sizes[:1] for name, sizes in linear.items()}
        return found | {f"{name}.{part}": (width,) for name in norms for part in ("weight", "bias")}

    def save(self, folder: Path, type_: type = np.float32) -> Path:
        """Write the model to `folder`, its weights as `type_`, and return the folder."""
        config = {
            "model_type": self.model_type,
            "hidden_act": self.hidden_act,
            "hidden_size": self.width,
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "intermediate_size": self.inner,
            "max_position_embeddings": self.positions,
            "layer_norm_eps": 1e-5,
            "pad_token_id": 0,
        }
        standard = {"config.json": config | dict(self.config), "tokenizer.json": tokenizer()}
        for name, value in {**standard, **self.files}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(json.dumps(value), encoding="utf-8")
        saved: dict[str, NDArray[Any]] = {
            self.before + name: tensor.astype(type_) for name, tensor in self.weights.items()
        }
        save_file(saved | {"embeddings.position_ids": np.arange(4)[np.newaxis]}, folder / "model.safetensors")
        return folder


def tokenizer(**changes: Any) -> dict[str, Any]:
    """Return the content of a `tokenizer.json` for WORDS: [CLS] and [SEP] stand around a text.

    It also pads and cuts, which is not wanted. `changes`: other values of its keys.
    """
    ends = {word: {"id": word, "ids": [WORDS.index(word)], "tokens": [word]} for word in ("[CLS]", "[SEP]")}
    special = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            "strategy": {"Fixed": 20},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "added_tokens": [{"id": at, "content": word, **special} for at, word in enumerate(WORDS[:4])],
        "normalizer": None,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": ends,
        },
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: at for at, word in enumerate(WORDS)},
        },
        **changes,
    }
