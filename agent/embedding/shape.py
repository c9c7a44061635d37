"""Reads the configuration beside a sentence model's weights, and checks that its shape is supported here.

The folder has the files that sentence-transformers saves (https://sbert.net): `config.json` and `tokenizer.json` of the
transformer, `modules.json` for the modules after the transformer, `1_Pooling/config.json` for the pooling, and optional
files with the same meaning as in that library. A shape that is not supported is reported before the first text, in one
line that names the file and the value.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from ..errors import UsageError
from ..ports.embed import TextRole
from .weights import Files

Activation: TypeAlias = Literal["gelu", "gelu_tanh", "relu"]
Pooling: TypeAlias = Literal["mean", "cls"]

_FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert")
_ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
_READ_AS: dict[TextRole, tuple[str, ...]] = {"question": ("query",), "passage": ("document", "passage")}
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A transformer and the modules after it. Sizes are numbers of floats unless the name says otherwise.

    `eps`: added to a variance before its root is taken. `positions`: rows of the position table; `first_position`: the
    row of the first token. `max_tokens`: most tokens of one text, special tokens included. `dense`: the folder of the
    dense layer after the pooling, if any. `prompts`: the prefix of a text by its role. `lower`: whether texts are put
    in lower case first.
    """

    width: int
    heads: int
    layers: int
    inner: int
    activation: Activation
    eps: float
    positions: int
    first_position: int
    max_tokens: int
    pooling: Pooling
    dense: str | None
    prompts: dict[TextRole, str]
    lower: bool


class _TransformerConfig(msgspec.Struct, kw_only=True):
    model_type: str
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    hidden_act: str = "gelu"
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 0
    position_embedding_type: str = "absolute"
    is_decoder: bool = False


class _SentenceConfig(msgspec.Struct):
    max_seq_length: int | None = None
    do_lower_case: bool = False


class _Module(msgspec.Struct):
    type: str
    path: str = ""


class _Prompts(msgspec.Struct):
    prompts: dict[str, str] = {}


def read_shape(files: Files) -> Shape:
    """Read the shape of the model in `files`. Raises `agent.errors.UsageError`, one line, when it is not supported."""
    config = _read_json(files, "config.json", _TransformerConfig)
    if config is None:
        raise UsageError(f"config.json is missing in {files.place}: it should be a sentence model's folder")
    first = 0 if config.model_type == "bert" else (config.pad_token_id or 0) + 1
    longest = config.max_position_embeddings - first
    _check_config(files, config, longest)
    sentence = _read_json(files, "sentence_bert_config.json", _SentenceConfig) or _SentenceConfig()
    pooling, dense = _read_modules(files)
    return Shape(
        width=config.hidden_size,
        heads=config.num_attention_heads,
        layers=config.num_hidden_layers,
        inner=config.intermediate_size,
        activation=_ACTIVATIONS[config.hidden_act],
        eps=config.layer_norm_eps,
        positions=config.max_position_embeddings,
        first_position=first,
        max_tokens=min(max(sentence.max_seq_length or longest, 8), longest),
        pooling=pooling,
        dense=dense,
        prompts=_read_prompts(files),
        lower=sentence.do_lower_case,
    )


def _check_config(files: Files, config: _TransformerConfig, longest: int) -> None:
    sizes = (
        config.hidden_size,
        config.num_attention_heads,
        config.num_hidden_layers,
        config.intermediate_size,
        config.max_position_embeddings,
    )
    problems = (
        (config.model_type not in _FAMILIES, "model_type", config.model_type, ", ".join(_FAMILIES)),
        (config.hidden_act not in _ACTIVATIONS, "hidden_act", config.hidden_act, ", ".join(_ACTIVATIONS)),
        (
            config.position_embedding_type != "absolute",
            "position_embedding_type",
            config.position_embedding_type,
            "absolute",
        ),
        (config.is_decoder, "is_decoder", "true", "false"),
        (min(sizes) < 1, "a size of", str(min(sizes)), "1 and more"),
        (longest < 8, "max_position_embeddings", str(config.max_position_embeddings), "8 and more"),
    )
    for wrong, name, value, allowed in problems:
        if wrong:
            raise UsageError(f"config.json in {files.place} has {name} {value}; supported: {allowed}")
    if config.hidden_size % config.num_attention_heads:
        raise UsageError(
            f"config.json in {files.place}: hidden_size {config.hidden_size} is not a multiple of "
            f"num_attention_heads {config.num_attention_heads}"
        )


def _read_modules(files: Files) -> tuple[Pooling, str | None]:
    """Return the pooling after the transformer, and the folder of a dense layer if there is one."""
    modules = _read_json(files, "modules.json", list[_Module])
    if modules is None:
        return _read_pooling(files, "1_Pooling"), None
    pooling: Pooling = "mean"
    dense = None
    for module in modules:
        kind = module.type.rpartition(".")[2]
        if kind == "Pooling":
            pooling = _read_pooling(files, module.path)
        elif kind == "Dense" and dense is None:
            dense = module.path
        elif kind not in ("Transformer", "Normalize"):
            raise UsageError(
                f"modules.json in {files.place} has a module {module.type}; supported: "
                "Transformer, Pooling, one Dense, Normalize"
            )
    return pooling, dense


def _read_pooling(files: Files, folder: str) -> Pooling:
    """Return the pooling in the `config.json` of a folder; without that file, the mean, as in sentence-transformers."""
    pooling_config = _read_json(files, f"{folder}/config.json", dict[str, Any])
    if pooling_config is None:
        return "mean"
    modes = {key.removeprefix("pooling_mode_") for key, value in pooling_config.items() if value is True}
    modes = modes & {
        "cls_token",
        "mean_tokens",
        "max_tokens",
        "mean_sqrt_len_tokens",
        "weightedmean_tokens",
        "lasttoken",
    }
    if "pooling_mode" in pooling_config:
        modes = {str(pooling_config["pooling_mode"])}
    if modes <= {"mean_tokens", "mean"} and modes:
        return "mean"
    if modes <= {"cls_token", "cls"} and modes:
        return "cls"
    raise UsageError(
        f"{folder}/config.json in {files.place} pools by {', '.join(sorted(modes)) or 'nothing'}; "
        "supported: mean_tokens or cls_token"
    )


def _read_prompts(files: Files) -> dict[TextRole, str]:
    """Return the prefixes that the model wants before a question and before a passage, where its files name them."""
    prompts = (_read_json(files, "config_sentence_transformers.json", _Prompts) or _Prompts()).prompts
    return {
        role: next((prompts[key] for key in keys if key in prompts), "") for role, keys in _READ_AS.items()
    }


def _read_json(files: Files, name: str, type_: type[T]) -> T | None:
    content = files.read_bytes(name)
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{name} in {files.place} cannot be read: {error}") from None
