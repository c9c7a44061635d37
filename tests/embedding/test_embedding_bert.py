"""A BERT in numpy gives what the papers' formulas give by hand."""

import math
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from agent.embedding import bert as module
from agent.embedding.bert import Bert
from agent.embedding.parts import activate
from agent.embedding.shape import Activation
from agent.embedding.weights import Folder
from agent.errors import GivenUp, UsageError

from . import by_hand
from .small import Small, tokenizer

CLS, SEP = 2, 3
TEXT, TOKENS = "a price is one of the two months", [CLS, 4, 5, 6, 7, 8, 9, 10, 11, SEP]
POOL_CLS = {"1_Pooling/config.json": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}}


def hand(model: Small, tokens: list[int] = TOKENS, **said: Any) -> np.ndarray:
    usual = {"heads": 2, "layers": 2, "first": 0, "act": "gelu", "eps": 1e-5, "pooling": "mean"}
    return np.array(by_hand.embed(model.weights, tokens, usual | said))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Small(), {}),
        (Small(hidden_act="relu", seed=1), {"act": "relu"}),
        (Small(hidden_act="gelu_new", seed=2, heads=4), {"act": "tanh", "heads": 4}),
        (Small(files=POOL_CLS, before="bert.", seed=3, layers=3), {"pooling": "cls", "layers": 3}),
        (Small("xlm-roberta", config={"pad_token_id": 1}, before="roberta."), {"first": 2}),
        (Small("roberta", config={"pad_token_id": 0}), {"first": 1}),
    ],
)
def test_it_is_what_the_formulas_give_by_hand(tmp_path: Path, model: Small, said: Mapping[str, Any]) -> None:
    """Activation, heads, layers, pooling, where positions begin and what names begin with are the files' to say."""
    made = Bert(Folder(model.save(tmp_path)), "bert")
    assert np.abs(made.encode([TEXT])[0] - hand(model, **said)).max() < 2e-6
    assert made.dimension == 8


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float64"])
def test_weights_may_be_stored_in_other_widths(tmp_path: Path, kind: str) -> None:
    """Halves are widened: the row differs by what they have lost."""
    model = Small()
    folder = model.save(tmp_path, np.float64 if kind == "float64" else np.float16)
    if kind == "bfloat16":
        _as_bfloat16(model, folder / "model.safetensors")
    made = Bert(Folder(folder), "bert").encode([TEXT])[0]
    assert np.abs(made - hand(model)).max() < (1e-5 if kind == "float64" else 0.02)


def _as_bfloat16(model: Small, path: Path) -> None:
    halves = {
        name: (np.ascontiguousarray(tensor).view(np.uint32) >> 16).astype(np.uint16)
        for name, tensor in model.weights.items()
    }
    save_file(halves, path)
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    head = content[8 : 8 + size].replace(b'"U16"', b'"BF16"')
    path.write_bytes(len(head).to_bytes(8, "little") + head + content[8 + size :])


def test_a_row_does_not_depend_on_the_texts_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However texts are packed, each has the row it has alone, and stands in its place."""
    model = Bert(Folder(Small().save(tmp_path)), "bert")
    texts = ["a price", "", "pay it for two months", "refund", TEXT, "  ", "we pay"]
    alone = np.concatenate([model.encode([text]) for text in texts])
    for pack in (1, 7, 12, 256):
        monkeypatch.setattr(module, "PACK", pack)
        assert np.abs(model.encode(texts) - alone).max() < 1e-6
    assert not alone[[1, 5]].any()
    assert np.allclose(np.linalg.norm(alone[[0, 2, 3, 4, 6]], axis=1), 1.0)


@pytest.mark.parametrize(
    ("files", "longest"),
    [
        ({}, 24),
        ({"sentence_bert_config.json": {"max_seq_length": 9}}, 9),
        ({"sentence_bert_config.json": {"max_seq_length": 99}}, 24),
    ],
)
def test_a_long_text_is_cut_where_the_model_ends(
    tmp_path: Path, files: Mapping[str, Any], longest: int
) -> None:
    """As many tokens as the sentence model says, never more than it has positions; its tokenizer does not decide."""
    model = Small(files=files)
    made = Bert(Folder(model.save(tmp_path)), "bert").encode(["price " * 40])[0]
    assert np.abs(made - hand(model, [CLS, *[5] * (longest - 2), SEP])).max() < 2e-6


def test_a_text_holds_no_commands(tmp_path: Path) -> None:
    """What is written like a separator is unknown text, and characters that are none are question marks."""
    model = Small()
    made = Bert(Folder(model.save(tmp_path)), "bert")
    unknown = 1
    assert np.allclose(made.encode(["price [SEP]"])[0], hand(model, [CLS, 5, *[unknown] * 3, SEP]), atol=2e-6)
    assert np.allclose(made.encode(["price \ud800"])[0], hand(model, [CLS, 5, unknown, SEP]), atol=2e-6)


def test_a_text_of_which_no_token_is_left_has_no_direction(tmp_path: Path) -> None:
    """What a tokenizer throws away leaves only the model's own tokens, which say nothing."""
    drops = {"type": "Replace", "pattern": {"String": "\u200b"}, "content": ""}
    model = Small(files={"tokenizer.json": tokenizer(normalizer=drops)})
    rows = Bert(Folder(model.save(tmp_path)), "bert").encode(["\u200b\u200b", "a\u200b price", "a price"])
    assert not rows[0].any()
    assert np.allclose(rows[1], rows[2])


def test_what_a_model_wants_before_a_text_is_put_there(tmp_path: Path) -> None:
    """Questions and passages have their own words before them where a file says so; blank texts stay blank."""
    said = {"config_sentence_transformers.json": {"prompts": {"query": "query ", "passage": "for "}}}
    model = Small(files=said)
    made = Bert(Folder(model.save(tmp_path)), "bert")
    assert np.allclose(made.encode(["price"], "question")[0], hand(model, [CLS, 17, 5, SEP]), atol=2e-6)
    assert np.allclose(made.encode(["price"])[0], hand(model, [CLS, 15, 5, SEP]), atol=2e-6)
    assert not made.encode([" "], "question").any()


def test_letters_are_made_small_where_the_model_says_so(tmp_path: Path) -> None:
    """An old way to say that case does not count."""
    model = Small(files={"sentence_bert_config.json": {"do_lower_case": True}})
    made = Bert(Folder(model.save(tmp_path)), "bert")
    assert np.allclose(made.encode(["PRICE"])[0], hand(model, [CLS, 5, SEP]), atol=2e-6)


@pytest.mark.parametrize("activation", ["Tanh", "Identity"])
def test_a_dense_layer_after_the_pooling_is_computed(tmp_path: Path, activation: str) -> None:
    """Its width is the vectors'."""
    kind = "sentence_transformers.models."
    model = Small(
        files={
            "modules.json": [
                {"type": f"{kind}Transformer", "path": ""},
                {"type": f"{kind}Pooling", "path": "1_Pooling"},
                {"type": f"{kind}Dense", "path": "2_Dense"},
                {"type": f"{kind}Normalize", "path": "3_Normalize"},
            ],
            "2_Dense/config.json": {
                "in_features": 8,
                "out_features": 3,
                "bias": True,
                "activation_function": f"torch.nn.modules.linear.{activation}",
            },
        }
    )
    folder = model.save(tmp_path)
    draw = np.random.default_rng(5)
    matrix, bias = draw.normal(size=(3, 8)).astype(np.float32), draw.normal(size=3).astype(np.float32)
    save_file({"linear.weight": matrix, "linear.bias": bias}, folder / "2_Dense" / "model.safetensors")
    made = Bert(Folder(folder), "bert")
    pooled = made._pool([TOKENS], lambda: False)  # before its length is made 1, which tanh depends on
    made._dense, dense = None, made._dense
    plain = made._pool([TOKENS], lambda: False)[0]
    assert dense is not None
    wanted = matrix @ plain + bias
    assert np.allclose(pooled[0], np.tanh(wanted) if activation == "Tanh" else wanted, atol=1e-5)
    assert made.dimension == 3


@pytest.mark.parametrize("kind", ["gelu", "gelu_tanh", "relu"])
def test_activations_are_right_to_the_last_digits_of_a_float(kind: Activation) -> None:
    """Also far out, around zero, and at zero itself."""
    x = np.concatenate([np.linspace(-12, 12, 4801), [0.0, -0.0, 1e-8, -1e-8, 80.0, -80.0]]).astype(np.float32)
    by_math = {
        "relu": lambda v: max(v, 0.0),
        "gelu": lambda v: v / 2 * (1 + math.erf(v / math.sqrt(2))),
        "gelu_tanh": lambda v: v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))),
    }
    wanted = np.array([by_math[kind](float(v)) for v in x])
    made = activate(kind, x.copy())
    assert np.abs(made - wanted).max() < 2e-6
    assert np.abs(made - wanted)[np.abs(x) < 1].max() < 2e-7


def test_other_weights_or_another_shape_have_another_name(tmp_path: Path) -> None:
    """Vectors that were kept are not taken for another model's; the folder's own name does not matter."""
    names = [
        Bert(Folder(model.save(tmp_path / str(at))), "bert").name
        for at, model in enumerate(
            (Small(), Small(), Small(seed=1), Small(files=POOL_CLS), Small(hidden_act="relu"))
        )
    ]
    assert names[0] == names[1]
    assert len(set(names)) == 4
    assert all(name.startswith("bert:") for name in names)


def test_it_stops_between_the_parts_of_a_layer(tmp_path: Path) -> None:
    """Wherever somebody gives up there is an end soon: asked at least twice a layer for each pack."""
    model = Bert(Folder(Small().save(tmp_path)), "bert")
    asked = count()
    model.encode([TEXT], given_up=lambda: next(asked) < 0)
    times = next(asked)
    assert times >= 5
    for at in range(times):
        asked = count()
        with pytest.raises(GivenUp):
            model.encode([TEXT], given_up=lambda at=at, asked=asked: next(asked) == at)  # type: ignore[misc]
        assert next(asked) == at + 1


@pytest.mark.parametrize(
    ("name", "sizes", "says"),
    [
        (
            "encoder.layer.1.attention.self.key.weight",
            None,
            "encoder.layer.1.attention.self.key.weight is missing",
        ),
        ("embeddings.word_embeddings.weight", None, "embeddings.word_embeddings.weight is missing"),
        ("encoder.layer.0.output.dense.weight", (8, 11), "has sizes 8 x 11, but config.json says 8 x 12"),
        ("embeddings.position_embeddings.weight", (23, 8), "has sizes 23 x 8, but config.json says 24 x 8"),
        ("embeddings.word_embeddings.weight", (18, 9), "has sizes 18 x 9, but config.json says any x 8"),
        ("embeddings.word_embeddings.weight", (9, 8), "more tokens than there are word embeddings"),
        ("embeddings.LayerNorm.bias", (8, 1), "has sizes 8 x 1, but config.json says 8"),
    ],
)
def test_weights_that_do_not_fit_are_named(
    tmp_path: Path, name: str, sizes: tuple[int, ...] | None, says: str
) -> None:
    """The operator reads which tensor is missing or has which sizes."""
    model = Small()
    del model.weights[name]
    if sizes:
        model.weights[name] = np.zeros(sizes, np.float32)
    with pytest.raises(UsageError, match=says):
        Bert(Folder(model.save(tmp_path)), "bert")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    """Each of the three that a model cannot do without."""
    (Small().save(tmp_path) / name).unlink()
    with pytest.raises(UsageError, match=f"{name}.* is missing"):
        Bert(Folder(tmp_path), "bert")


def test_threads_share_a_model(tmp_path: Path) -> None:
    """Embedding writes to nothing that outlives the call: the weights are the same before and after."""
    folder = Small().save(tmp_path)
    model = Bert(Folder(folder), "bert")
    before = load_file(folder / "model.safetensors")
    first = model.encode([TEXT])
    assert np.array_equal(model.encode([TEXT]), first)
    after = load_file(folder / "model.safetensors")
    assert all(np.array_equal(before[name], after[name]) for name in before)
