"""The sentence of a server that refuses a request: found in each service's form, bounded, and without secrets."""

import json

import pytest

from agent.models.refusal import SENTENCE_CHARACTERS, advise, is_too_long, read_refusal

KEY = "sk-proj-9fQ2xW77Lm"
TOO_LONG = {
    "openai": b'{"error": {"message": "This model\'s maximum context length is 8192 tokens.", "code": '
    b'"context_length_exceeded"}}',
    "llama.cpp": b'{"error": {"code": 400, "message": "the request exceeds the available context size", '
    b'"type": "exceed_context_size_error"}}',
    "vllm": b'{"message": "This model\'s maximum context length is 4096 tokens. However, you requested 5000"}',
}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            b'{"error": {"message": "The model `x` does not exist", "code": null}}',
            "The model `x` does not exist",
        ),
        (b'{"type": "error", "error": {"type": "a", "message": "invalid x-api-key"}}', "invalid x-api-key"),
        (
            b'{"error": "model \\"x\\" not found, try pulling it first"}',
            'model "x" not found, try pulling it first',
        ),
        (b'{"object": "error", "message": "Not found", "code": 404}', "Not found"),
        (b'{"detail": "Unauthorized"}', "Unauthorized"),
        (b'{"detail": [{"loc": ["body"], "msg": "missing"}]}', ""),
        (b'{"error": 7}', ""),
        (b"<html>no</html>", ""),
        (b"\xff\xfe", ""),
        (b"", ""),
        (b'{"error": "one\\n\\u001b[31m two\\u2028three"}', "one \N{REPLACEMENT CHARACTER}[31m two three"),
    ],
)
def test_the_sentence_is_found_where_services_put_it(body: bytes, sentence: str) -> None:
    """It is one printable line, or nothing where a body has none."""
    assert read_refusal(body, (KEY,), ()) == sentence


def test_the_sentence_is_bounded() -> None:
    """However long a server's sentence is."""
    assert len(read_refusal(json.dumps({"error": "ab " * 9000}).encode(), (), ())) == SENTENCE_CHARACTERS


@pytest.mark.parametrize("shown", [KEY, "sk-pr***77Lm", f"'{KEY}'.", KEY[:6], f"a{KEY[5:9]}b"])
def test_no_part_of_a_key_is_kept(shown: str) -> None:
    """Services repeat a wrong key, or its ends; the words around it stay."""
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {shown} Look it up."}}).encode()
    assert read_refusal(body, (KEY,), ()) == "Incorrect API key provided: *** Look it up."


def test_a_sentence_that_repeats_the_prompt_is_left_out() -> None:
    """What users say is in no log line."""
    prompt = ("Rules.", "My budget is 40123 kr,\n what can I buy?")
    echo = json.dumps({"error": "invalid prompt: My budget is 40123 kr, what can I buy?"}).encode()
    assert read_refusal(echo, (), prompt) == ""
    assert read_refusal(b'{"error": "invalid prompt"}', (), prompt) == "invalid prompt"


@pytest.mark.parametrize("service", TOO_LONG)
def test_a_prompt_over_the_context_is_noticed(service: str) -> None:
    """The advice then names the setting that makes prompts shorter."""
    assert is_too_long(TOO_LONG[service])
    assert "evidence-tokens" in advise(400, "KEY", too_long=True)


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (401, "OPENAI_API_KEY"),
        (403, "OPENAI_API_KEY"),
        (404, "name"),
        (429, "quota"),
        (422, "base-url"),
        (503, "log"),
    ],
)
def test_each_refusal_says_what_to_do(status: int, word: str) -> None:
    """By the status alone, since a body may say nothing."""
    assert word in advise(status, "OPENAI_API_KEY", too_long=False)
    assert not is_too_long(b'{"error": {"message": "Internal error"}}')
