"""What a model's files say is understood or refused, before the first text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.embedding.bert import Bert
from agent.embedding.shape import read_shape
from agent.embedding.weights import Folder
from agent.errors import UsageError

from .small import Small


def shape_of(folder: Path, config: Mapping[str, Any] = {}, **files: Any) -> Any:
    named = {name.replace("__", "/") + ".json": value for name, value in files.items()}
    model = Small(config=config, files=named)
    return read_shape(Folder(model.save(folder)))


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"model_type": "mpnet"}, "model_type mpnet.*bert, roberta, xlm-roberta, camembert"),
        ({"hidden_act": "silu"}, "hidden_act silu"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type relative_key"),
        ({"is_decoder": True}, "is_decoder true"),
        ({"num_attention_heads": 3}, "hidden_size 8 is not a multiple of num_attention_heads 3"),
        ({"num_attention_heads": 0}, "a size of 0"),
        ({"max_position_embeddings": 3}, "max_position_embeddings 3"),
        ({"hidden_size": "8"}, "config.json .* cannot be read"),
        ({"hidden_size": None}, "config.json .* cannot be read"),
    ],
)
def test_a_transformer_of_another_kind_is_refused(
    tmp_path: Path, config: Mapping[str, Any], says: str
) -> None:
    """One line names the key, its value, and the supported values."""
    with pytest.raises(UsageError, match=says) as said:
        shape_of(tmp_path, config)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    ("said", "pooling"),
    [
        (None, "mean"),
        ({"pooling_mode_mean_tokens": True, "word_embedding_dimension": 8, "include_prompt": True}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": "mean"}, "mean"),
    ],
)
def test_pooling_is_what_its_file_says(tmp_path: Path, said: Any, pooling: str) -> None:
    """In the old form and the new one; without a file it is the mean."""
    files = {} if said is None else {"1_Pooling__config": said}
    assert shape_of(tmp_path, **files).pooling == pooling


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ({"pooling_mode_max_tokens": True}, "max_tokens"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, "cls_token, mean_tokens"),
        ({"pooling_mode_mean_tokens": False}, "nothing"),
        ({"pooling_mode": "lasttoken"}, "lasttoken"),
    ],
)
def test_other_poolings_are_refused(tmp_path: Path, said: Any, says: str) -> None:
    """Two at once too, which sentence-transformers would put side by side."""
    with pytest.raises(UsageError, match=f"1_Pooling/config.json .* pools by {says};"):
        shape_of(tmp_path, **{"1_Pooling__config": said})


def test_a_module_of_another_kind_is_refused(tmp_path: Path) -> None:
    """What comes after the pooling must be known."""
    with pytest.raises(UsageError, match=r"module sentence_transformers\.models\.LSTM"):
        shape_of(tmp_path, modules=[{"type": "sentence_transformers.models.LSTM", "path": "2_LSTM"}])


@pytest.mark.parametrize(
    "dense",
    [None, {"in_features": 8}, {"in_features": 8, "out_features": 2, "activation_function": "x.ReLU"}],
)
def test_a_dense_layer_must_say_what_it_is(tmp_path: Path, dense: Any) -> None:
    """Its sizes and its activation."""
    modules = [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]
    files = {"modules.json": modules} | ({} if dense is None else {"2_Dense/config.json": dense})
    with pytest.raises(UsageError, match=r"2_Dense/config.json .* (cannot be read|activation_function ReLU)"):
        Bert(Folder(Small(files=files).save(tmp_path)), "bert")


def test_what_is_not_said_means_what_it_means_there(tmp_path: Path) -> None:
    """No prompts, no lower case, and as many tokens as there are positions left."""
    plain = shape_of(tmp_path)
    assert (plain.max_tokens, plain.first_position, plain.lower, plain.dense) == (24, 0, False, None)
    assert plain.prompts == {"question": "", "passage": ""}
    roberta = read_shape(Folder(Small("xlm-roberta", config={"pad_token_id": 1}).save(tmp_path)))
    assert (roberta.max_tokens, roberta.first_position) == (22, 2)
