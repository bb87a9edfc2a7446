"""Encoders read from Hugging Face directories: equality with `transformers`, and one clear error for each thing wrong."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

from graph2graph.encoder import pretrained
from graph2graph.encoder.encoder import GraphEncoder
from graph2graph.encoder.pieces import Pieces
from graph2graph.errors import DataError
from small_encoder import with_relations

pytestmark = pytest.mark.usefixtures("one_thread")
SHAPE = {
    "vocab_size": 50,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 30,
}
DISTILBERT_SHAPE = {
    "vocab_size": 50,
    "dim": 24,
    "n_layers": 3,
    "n_heads": 4,
    "hidden_dim": 40,
    "max_position_embeddings": 30,
}
# The class of the configuration, what is changed in it, and a model with a head on top.
ARCHITECTURES: dict[str, tuple[str, dict[str, Any], str]] = {
    "bert": ("BertConfig", {}, "BertForPreTraining"),
    "bert-relu": ("BertConfig", {"hidden_act": "relu", "layer_norm_eps": 1e-3}, "BertForMaskedLM"),
    "roberta": ("RobertaConfig", {"type_vocab_size": 1, "layer_norm_eps": 1e-5}, "RobertaForMaskedLM"),
    "roberta-pad-3": ("RobertaConfig", {"pad_token_id": 3}, "RobertaForMaskedLM"),
    "xlm-roberta": ("XLMRobertaConfig", {"type_vocab_size": 1}, "XLMRobertaForMaskedLM"),
    "camembert": ("CamembertConfig", {"type_vocab_size": 1}, "CamembertForMaskedLM"),
    "distilbert": ("DistilBertConfig", DISTILBERT_SHAPE, "DistilBertForMaskedLM"),
    "electra": ("ElectraConfig", {"embedding_size": 24}, "ElectraForMaskedLM"),
    "electra-narrow": ("ElectraConfig", {"embedding_size": 16}, "ElectraForPreTraining"),
    "mpnet": ("MPNetConfig", {}, "MPNetForMaskedLM"),
}
LENGTHS = torch.tensor([20, 1, 13])


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    yield
    transformers.logging.enable_progress_bar()


def config_of(name: str) -> Any:
    kind, changes, _ = ARCHITECTURES[name]
    return getattr(transformers, kind)(**({} if "dim" in changes else SHAPE), **changes)


def save(model: Any, directory: Path, **options: object) -> Path:
    """The model as a directory, with weights large enough to tell one from another."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.2)
    model.eval().save_pretrained(directory, **options)
    return directory


@pytest.fixture(scope="module", params=ARCHITECTURES)
def reference(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    """A directory, its configuration, and the model itself."""
    config = config_of(request.param)
    model = transformers.AutoModel.from_config(config)
    return save(model, tmp_path_factory.mktemp(request.param)), config, model


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(transformers.AutoModel.from_config(config_of("bert")), tmp_path_factory.mktemp("bert"))


@pytest.fixture
def spoilt(bert: Path, tmp_path: Path) -> Path:
    """A copy of a good directory, to be spoilt."""
    return Path(shutil.copytree(bert, tmp_path / "encoder"))


def padded_tokens(config: Any) -> Tensor:
    torch.manual_seed(1)
    tokens = torch.randint(5, config.vocab_size, (3, 20))
    return tokens.masked_fill(torch.arange(20) >= LENGTHS[:, None], config.pad_token_id)


@torch.inference_mode()
def expected(model: Any, tokens: Tensor, *, layer: int = -1, **given: Tensor) -> Tensor:
    mask = (torch.arange(tokens.shape[1]) < LENGTHS[: len(tokens), None]).long()
    out: Tensor = model(tokens, attention_mask=mask, output_hidden_states=True, **given).hidden_states[layer]
    return out * mask[..., None]


def load(directory: Path, *, relation_std: float | None = None, **changes: object) -> GraphEncoder:
    config = pretrained.read_config(directory)
    encoder = pretrained.load(directory, config.model_copy(update=changes)).eval()
    return encoder if relation_std is None else with_relations(encoder, relation_std)


@torch.inference_mode()
def check(encoder: GraphEncoder, out: Tensor, tokens: Tensor, **given: Tensor) -> None:
    torch.testing.assert_close(encoder(tokens, lengths=LENGTHS[: len(tokens)], **given), out, rtol=1e-5, atol=1e-5)


def test_equals_transformers(reference: tuple[Path, Any, Any]) -> None:
    directory, config, model = reference
    tokens = padded_tokens(config)
    check(load(directory), expected(model, tokens), tokens)


def test_longest_input_equals_transformers(reference: tuple[Path, Any, Any]) -> None:
    directory, config, model = reference
    encoder = load(directory)
    tokens = torch.randint(5, 50, (1, encoder.config.max_positions))
    offset = 0 if config.model_type in ("bert", "distilbert", "electra") else config.pad_token_id + 1
    assert tokens.shape[1] == 30 - offset
    with torch.inference_mode():
        torch.testing.assert_close(encoder(tokens), model(tokens).last_hidden_state, rtol=1e-5, atol=1e-5)


def test_zero_relation_tables_change_nothing(reference: tuple[Path, Any, Any]) -> None:
    directory, config, model = reference
    encoder = load(directory, relations=5, relation_std=0.0)
    tokens = padded_tokens(config)
    graph = torch.randint(5, (3, 20, 20))
    check(encoder, expected(model, tokens), tokens, graph=graph)
    with_graph = load(directory, relations=5, relation_std=1.0)
    assert not torch.allclose(
        with_graph(tokens, lengths=LENGTHS, graph=graph), encoder(tokens, lengths=LENGTHS), atol=0.01
    )


def test_segments_equal_transformers(bert: Path) -> None:
    model = transformers.AutoModel.from_pretrained(bert)
    tokens, segments = padded_tokens(model.config), torch.randint(2, (3, 20))
    out = expected(model, tokens, token_type_ids=segments)
    check(load(bert), out, tokens, segments=segments)
    encoder = load(bert, n_segments=3)  # the third is new, and small
    check(encoder, out, tokens, segments=segments)
    assert encoder.segments is not None
    assert 0 < float(encoder.segments.weight[2].detach().abs().max()) < 0.2
    assert load(bert, n_segments=1).segments.weight.shape == (1, 24)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["distilbert", "mpnet"])
def test_segments_where_there_were_none(name: str, tmp_path: Path) -> None:
    model = transformers.AutoModel.from_config(config_of(name))
    encoder = load(save(model, tmp_path), n_segments=3)
    assert encoder.segments is not None
    with torch.no_grad():
        encoder.segments.weight.zero_()
    tokens = padded_tokens(model.config)
    check(encoder, expected(model, tokens), tokens, segments=torch.randint(3, (3, 20)))


@pytest.mark.parametrize("n_layers", [1, 2])
def test_first_layers(reference: tuple[Path, Any, Any], n_layers: int) -> None:
    directory, config, model = reference
    tokens = padded_tokens(config)
    encoder = load(directory, layers=n_layers)
    assert len(encoder.layers) == n_layers
    check(encoder, expected(model, tokens, layer=n_layers), tokens)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_saved_with_a_head(name: str, tmp_path: Path) -> None:
    """Then all keys begin with the model's name."""
    model = getattr(transformers, ARCHITECTURES[name][2])(config_of(name))
    save(model, tmp_path)
    tokens = padded_tokens(model.config)
    check(load(tmp_path), expected(model, tokens), tokens)


def test_shards(tmp_path: Path) -> None:
    model = transformers.AutoModel.from_config(config_of("bert"))
    save(model, tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    tokens = padded_tokens(model.config)
    check(load(tmp_path), expected(model, tokens), tokens)
    first = min(tmp_path.glob("*.safetensors"))
    first.unlink()
    with pytest.raises(DataError, match=f"{first.name}: no such file"):
        load(tmp_path)


def test_names_of_the_first_berts(bert: Path, spoilt: Path) -> None:
    weights = load_file(spoilt / "model.safetensors")
    old = {}
    for key, tensor in weights.items():
        if "LayerNorm" in key:
            key = key.replace(".weight", ".gamma").replace(".bias", ".beta")
        old[f"bert.{key}"] = tensor
    save_file(old, spoilt / "model.safetensors")
    assert_same(load(spoilt), load(bert))


def assert_same(one: GraphEncoder, other: GraphEncoder) -> None:
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name


def test_old_bin_is_read_with_a_note(bert: Path, spoilt: Path) -> None:
    weights = load_file(spoilt / "model.safetensors")
    (spoilt / "model.safetensors").unlink()
    torch.save(weights, spoilt / "pytorch_model.bin")
    with pytest.warns(UserWarning, match=r"pytorch_model\.bin: an old format"):
        encoder = load(spoilt)
    assert_same(encoder, load(bert))


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('it ran')",)


@pytest.mark.parametrize("content", [Evil(), torch.zeros(3), [1, 2]], ids=["code", "tensor", "list"])
def test_bin_with_anything_else_is_refused(spoilt: Path, content: object) -> None:
    (spoilt / "model.safetensors").unlink()
    torch.save(content, spoilt / "pytorch_model.bin")
    with warnings.catch_warnings(action="ignore"):
        assert "pytorch_model.bin: cannot be read: " in complaint(lambda: load(spoilt))


def test_half_precision_weights_become_floats(bert: Path, spoilt: Path) -> None:
    weights = load_file(spoilt / "model.safetensors")
    save_file({key: tensor.half() for key, tensor in weights.items()}, spoilt / "model.safetensors")
    half, full = load(spoilt), load(bert)
    assert half.words.weight.dtype == torch.float32
    torch.testing.assert_close(half.words.weight, full.words.weight, rtol=1e-3, atol=1e-3)


# ---------------------------------------------------------------------- real encoders


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "layers", "width", "parameters"), [("minilm-l6", 6, 384, 22.6e6), ("mpnet-base", 12, 768, 108.9e6)]
)
def test_real_encoders_equal_transformers(
    encoder_dir: Callable[[str], Path], name: str, layers: int, width: int, parameters: float
) -> None:
    directory = encoder_dir(name)
    encoder, pieces = load(directory), Pieces.read(directory)
    assert (encoder.config.layers, encoder.config.width) == (layers, width)
    assert encoder.config.max_positions == 512
    assert len(pieces) == encoder.config.vocab_size
    assert sum(p.numel() for p in encoder.parameters()) == pytest.approx(parameters, rel=0.01)
    sentences = ["The cat that the dogs chased sat on an uncomfortably small mat .", "Run !", "Ceci n'est pas anglais"]
    rows = [[pieces.cls, *(i for word in s.split() for i in pieces.of(word)), pieces.sep] for s in sentences]
    lengths = torch.tensor([len(row) for row in rows])
    tokens = torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(row) for row in rows], batch_first=True, padding_value=1 if name == "mpnet-base" else 0
    )
    mask = (torch.arange(tokens.shape[1]) < lengths[:, None]).long()
    model = transformers.AutoModel.from_pretrained(directory).eval()
    with torch.inference_mode():
        states = model(tokens, attention_mask=mask, output_hidden_states=True).hidden_states
        ours = encoder(tokens, lengths=lengths)
        torch.testing.assert_close(ours, states[-1] * mask[..., None], rtol=1e-5, atol=1e-5)
        half = load(directory, layers=layers // 2, relations=3, relation_std=0.0)
        half_states = half(tokens, lengths=lengths, graph=torch.randint(3, (3, *tokens.shape[1:], *tokens.shape[1:])))
        torch.testing.assert_close(half_states, states[layers // 2] * mask[..., None], rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------------- errors


def complaint(work: Callable[[], object]) -> str:
    """The one line that is said."""
    with pytest.raises(DataError) as raised:
        work()
    message = str(raised.value)
    assert len(message.splitlines()) == 1
    return message


def change_config(directory: Path, **changes: object) -> None:
    config = json.loads((directory / "config.json").read_text()) | changes
    config = {key: value for key, value in config.items() if value is not ...}
    (directory / "config.json").write_text(json.dumps(config))


def change_weights(directory: Path, key: str, tensor: Tensor | None) -> None:
    weights = load_file(directory / "model.safetensors")
    weights.pop(key)
    save_file(weights if tensor is None else {**weights, key: tensor}, directory / "model.safetensors")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "gpt2"}, "model_type 'gpt2' is not supported; expected one of bert, roberta, "),
        ({"model_type": ...}, "model_type None is not supported"),
        ({"hidden_size": ...}, "key 'hidden_size' is missing"),
        ({"hidden_size": "wide"}, "width: Input should be a valid integer"),
        ({"max_position_embeddings": "512!"}, "max_positions: Input should be a valid integer"),
        ({"hidden_act": "sin"}, "activation: Input should be 'gelu', 'gelu_new' or 'relu'"),
        ({"num_attention_heads": 5}, "width 24 is not a multiple of heads 5"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type 'relative_key' is not supported"),
    ],
)
def test_config_that_cannot_be_used(spoilt: Path, changes: dict[str, object], message: str) -> None:
    change_config(spoilt, **changes)
    said = complaint(lambda: pretrained.read_config(spoilt))
    assert said.startswith(f"{spoilt / 'config.json'}: ")
    assert message in said


def test_config_that_cannot_be_read(spoilt: Path) -> None:
    (spoilt / "config.json").write_text("{not json")
    assert "config.json: not JSON: " in complaint(lambda: pretrained.read_config(spoilt))
    (spoilt / "config.json").write_text("[]")
    assert "model_type None is not supported" in complaint(lambda: pretrained.read_config(spoilt))
    (spoilt / "config.json").unlink()
    assert complaint(lambda: pretrained.read_config(spoilt)).endswith("config.json: No such file or directory")


def test_missing_weights(spoilt: Path) -> None:
    (spoilt / "model.safetensors").unlink()
    assert complaint(lambda: load(spoilt)) == f"{spoilt}: no weights; expected model.safetensors"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("embeddings.token_type_embeddings.weight", "segments.weight"),
        ("encoder.layer.2.output.dense.bias", "layers.2.outer.bias"),
    ],
)
def test_missing_tensor(spoilt: Path, key: str, name: str) -> None:
    change_weights(spoilt, key, None)
    assert complaint(lambda: load(spoilt)) == f"{spoilt}: no weights for {name}"


@pytest.mark.parametrize(
    ("key", "shape", "name"),
    [
        ("embeddings.word_embeddings.weight", [49, 24], "words.weight"),
        ("embeddings.token_type_embeddings.weight", [2, 23], "segments.weight"),
        ("encoder.layer.1.attention.self.key.weight", [24, 20], "layers.1.attention.k.weight"),
        ("encoder.layer.1.attention.self.query.bias", [25], "layers.1.attention.q.bias"),
    ],
)
def test_wrong_shape(spoilt: Path, key: str, shape: list[int], name: str) -> None:
    change_weights(spoilt, key, torch.zeros(shape))
    assert complaint(lambda: load(spoilt)).startswith(f"{spoilt}: {name} has shape {shape}; expected [")


@pytest.mark.parametrize("kept", [0, 5, 300, -1])
def test_truncated_safetensors(spoilt: Path, kept: int) -> None:
    path = spoilt / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    assert complaint(lambda: load(spoilt)).startswith(f"{path}: broken or truncated: ")


def test_too_many_layers(bert: Path) -> None:
    assert complaint(lambda: load(bert, layers=4)) == f"{bert}: 4 layers asked for; it has 3"


# ---------------------------------------------------------------------- where an encoder is found


def no_hub(*_: object, **__: object) -> str:
    raise AssertionError("the hub was asked")


def test_a_directory_wins(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.snapshot_download", no_hub)
    monkeypatch.chdir(tmp_path)
    for name in ("bert-base-uncased", "owner/model", "a/b/c"):
        Path(name).mkdir(parents=True)
        assert pretrained.find(name) == Path(name)
    assert pretrained.find(bert) == bert
    monkeypatch.setenv("HOME", str(tmp_path))
    assert pretrained.find("~/owner") == tmp_path / "owner"


@pytest.mark.parametrize("name", ["./bert", "../bert", "/no/bert", "/bert", "~/bert", "a/b/c", "models/bert/", "file"])
def test_a_path_is_never_a_name_on_the_hub(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.snapshot_download", no_hub)
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert complaint(lambda: pretrained.find(name)).startswith(
        f"{name}: not a directory; expected one with config.json"
    )


@pytest.mark.parametrize("name", ["bert-base-uncased", "owner/model"])
def test_a_name_on_the_hub(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def download(repository: str, *, allow_patterns: list[str]) -> str:
        asked.append((repository, "pytorch_model*.bin" in allow_patterns))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert pretrained.find(name) == tmp_path
    assert asked == [(name, False), (name, True)]  # the old format only where there is no other
    (tmp_path / "model.safetensors").touch()
    assert pretrained.find(name) == tmp_path
    assert asked[2:] == [(name, False)]


@pytest.mark.slow
def test_without_network(tmp_path: Path) -> None:
    code = "import sys; from graph2graph import errors; from graph2graph.encoder import pretrained\n"
    code += "try: pretrained.find(sys.argv[1])\n"
    code += "except errors.DataError as error: print(error)"
    run = subprocess.run(
        [sys.executable, "-c", code, "bert-base-uncased"],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""
    [line] = run.stdout.splitlines()
    assert line.startswith("bert-base-uncased: no such directory, and the hub does not have it: ")


def test_without_the_hub_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert complaint(lambda: pretrained.find("bert-base-uncased")).endswith("need pip install 'graph2graph[hub]'")
