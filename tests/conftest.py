"""Settings that all tests share.

    python -m pytest --device-path tests/kernels tests/ngram tests/syntax

runs tests on the code that is meant for devices, with tensors on the CPU: kernels/backend.py then
treats every tensor as if it were elsewhere. Tests of what only a CPU does (`on_a_cpu`) are left
out.
"""

import sys

import pytest
import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
settings.register_profile(
    "tensormt", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tensormt")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption(
        "--device-path", action="store_true", help="run the code of devices on tensors of the CPU"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let kernels/backend.py say that no tensor is on the CPU, before others import from it."""
    if not config.getoption("--device-path"):
        return
    from fake_cuda import FakeCuda

    from tensormt.kernels import backend

    modules = [module for name, module in sys.modules.items() if name.startswith("tensormt.")]
    assert all(module is backend or not hasattr(module, "on_cpu") for module in modules)
    for name in ("on_cpu", "_uses_numpy"):
        # on the stand-in for a device tensors are where they say
        real = getattr(backend, name)
        setattr(backend, name, lambda tensor, real=real: bool(FakeCuda.active) and real(tensor))
    settings.register_profile("device-path", settings.get_profile("tensormt"), max_examples=15)
    settings.load_profile("device-path")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of what only a CPU does."""
    if config.getoption("--device-path"):
        reason = pytest.mark.skip(reason="a test of what only a CPU does")
        for item in items:
            if item.get_closest_marker("on_a_cpu"):
                item.add_marker(reason)
