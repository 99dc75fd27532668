"""A translation task of Inspect with metrics of this package.

    pip install inspect-ai && inspect eval examples/inspect_task.py --model openai/gpt-4o

The targets of a sample are its references. Each scorer shows the corpus score with its standard
error and 95% interval, and the mean of the samples.
"""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

from tensormt.integrations.inspect_ai import translation

SAMPLES = [
    Sample(input="der Hund schläft", target=["the dog sleeps", "the dog is asleep"]),
    Sample(input="eine Katze sieht den Vogel", target="a cat sees the bird"),
    Sample(input="mein Haus ist klein", target="my house is small"),
]


@task
def german_english() -> Task:
    return Task(
        dataset=MemoryDataset(SAMPLES),
        scorer=[translation("chrf"), translation("stm:balance=f1")],
    )
