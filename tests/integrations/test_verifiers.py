"""verifiers itself: its tasks score traces, many at once, by a metric."""

import asyncio
import runpy
from pathlib import Path

import pytest

import tensormt as tm

pytestmark = pytest.mark.heavy(needs="verifiers")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "verifiers_reward.py"
REPLIES = ["The dog sleeps.", "Der Hund schläft.", "A dog", "The cat sat on der Matte.", ""]


def trace_of(vf, task, reply):
    """The trace of a rollout whose model replied with this text."""
    from verifiers.v1.configs.agent import AgentConfig
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, TraceTask
    from verifiers.v1.types import AssistantMessage

    node = MessageNode(message=AssistantMessage(content=reply), sampled=True)
    return vf.Trace(
        task=TraceTask(type="TranslationTask", data=task.data),
        agent=AgentInfo(config=AgentConfig()),
        nodes=[node],
    )


def test_rewards_of_concurrent_rollouts():
    import verifiers.v1 as vf

    loaded = runpy.run_path(str(EXAMPLE))
    tasks = loaded["TranslationTaskset"](loaded["TranslationConfig"]()).load()
    pairs = [(task, trace_of(vf, task, reply)) for task in tasks for reply in REPLIES]

    async def all_at_once():
        await asyncio.gather(*(task.score(trace) for task, trace in pairs))

    asyncio.run(all_at_once())
    rows = [task.data for task, _ in pairs]
    expected = tm.score(
        [trace.last_reply for _, trace in pairs],
        [row.references for row in rows],
        [loaded["METRIC"]],
        sources=[row.source for row in rows],
        rows=True,
    ).segments[loaded["METRIC"]]
    found = [trace.reward for _, trace in pairs]
    assert found == pytest.approx(expected.tolist(), abs=1e-12)
    assert pairs[0][1].rewards["translation"].weight == 1.0
