"""Sentence models small enough to compute by hand, saved as sentence-transformers saves them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

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
        for name, value in {"config.json": config | dict(self.config), **self.files}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(json.dumps(value), encoding="utf-8")
        tokenizer().save(str(folder / "tokenizer.json"))
        saved: dict[str, NDArray[Any]] = {
            self.before + name: tensor.astype(type_) for name, tensor in self.weights.items()
        }
        save_file(saved | {"embeddings.position_ids": np.arange(4)[np.newaxis]}, folder / "model.safetensors")
        return folder


def tokenizer() -> Tokenizer:
    """Return one that knows WORDS, puts [CLS] and [SEP] around a text, pads and cuts (which is not wanted)."""
    made = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    made.add_special_tokens(list(WORDS[:4]))
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="$A $B", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.enable_padding(length=20)
    made.enable_truncation(5)
    return made
