"""Direct preference optimisation on the file of ``sarag evaluate preferences``, with TRL.

    pip install trl
    sarag evaluate preferences --corpus corpus.json --questions questions.json \\
        --output preferences.jsonl
    python examples/train_on_preferences.py --preferences preferences.jsonl \\
        --model Qwen/Qwen2.5-7B-Instruct --output tuned

The defaults are the settings of KG-Infused RAG (table 21): AdamW with a learning rate of 5e-7 and
no decay, four examples a step, one epoch, beta 0.1, and a reference model into which 0.6 of the
trained one is mixed every 512 steps. ``--steps`` and a tiny model make it a trial on a CPU.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of TRL's `DPOConfig`; a trial without a GPU runs in full precision."""
    import torch

    return {
        "output_dir": str(options.output),
        "beta": 0.1,
        "learning_rate": options.learning_rate,
        "per_device_train_batch_size": options.batch,
        "num_train_epochs": 1,
        "max_steps": options.steps,
        "max_length": options.max_length,
        "optim": "adamw_torch",
        "adam_beta1": 0.9,
        "adam_beta2": 0.999,
        "adam_epsilon": 1e-8,
        "weight_decay": 0.0,
        "sync_ref_model": True,
        "ref_model_mixup_alpha": 0.6,
        "ref_model_sync_steps": 512,
        "seed": 0,
        "bf16": torch.cuda.is_available(),
        "use_cpu": not torch.cuda.is_available(),
        "report_to": "none",
    }


def main(arguments: list[str] | None = None) -> None:
    """Train, and save the model."""
    options = _parser().parse_args(arguments)
    from datasets import load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import DPOConfig, DPOTrainer

    trainer = DPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(options.model),
        ref_model=AutoModelForCausalLM.from_pretrained(options.model),
        args=DPOConfig(**settings(options)),
        train_dataset=load_dataset("json", data_files=str(options.preferences), split="train"),
        processing_class=AutoTokenizer.from_pretrained(options.model),
    )
    trainer.train()
    trainer.save_model(str(options.output))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--preferences", type=Path, required=True)
    parser.add_argument("--model", required=True, help="folder or name of a causal language model")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--learning-rate", type=float, default=5e-7)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=-1, help="-1: one epoch")
    parser.add_argument("--max-length", type=int, default=8000)
    return parser


if __name__ == "__main__":
    main()
