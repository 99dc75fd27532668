"""score-files on this machine: the scores of `tensormt score`, however files are cut and shared."""

import pytest

from tensormt.errors import TensorMTError
from tensormt.scale.process_engine import worker_gpus


def test_gpus_are_dealt_out():
    assert [worker_gpus(k, 1, None, 4) for k in range(4)] == ["0", "1", "2", "3"]
    assert [worker_gpus(k, 2, "4,5,6,7", 0) for k in range(2)] == ["4,5", "6,7"]
    assert [worker_gpus(k, 0.5, None, 2) for k in range(4)] == ["0", "0", "1", "1"]
    with pytest.raises(TensorMTError, match="no CUDA device"):
        worker_gpus(0, 1, None, 0)
