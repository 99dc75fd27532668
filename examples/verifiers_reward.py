"""A taskset of verifiers whose reward is a metric; concurrent rollouts are scored as a batch.

    uv run eval verifiers_reward ...        # or any command of verifiers that takes a taskset

verifiers calls `reward` for one rollout at a time, many at once: `batched` gathers them for two
milliseconds. The penalties `copied` and `offtarget` keep a model from leaving text untranslated.
"""

import verifiers.v1 as vf

from tensormt.train import TextReward, batched

METRIC = "chrf+copied+offtarget"  # their mean, on 0–1; of an error rate x it has 1 - x
_score = batched(TextReward(METRIC))  # an async function of one text, its references, its source


class TranslationData(vf.TaskData):
    """One row: the source text and its references."""

    source: str
    references: list[str]


class TranslationTask(vf.Task[TranslationData]):
    """Translate a sentence."""

    @vf.reward(weight=1.0)
    async def translation(self, trace: vf.Trace) -> float:
        """The metric of the last reply."""
        return await _score(trace.last_reply, self.data.references, self.data.source)


class TranslationConfig(vf.TasksetConfig):
    """Nothing to configure."""


class TranslationTaskset(vf.Taskset[TranslationTask, TranslationConfig]):
    """Two sentences; load your own here."""

    def load(self) -> list[TranslationTask]:
        """Return the tasks."""
        rows = [
            ("Der Hund schläft.", ["The dog sleeps.", "The dog is asleep."]),
            ("Die Katze saß auf der Matte.", ["The cat sat on the mat."]),
        ]
        return [
            TranslationTask(
                TranslationData(
                    prompt=f"Translate into English: {source}", source=source, references=refs
                )
            )
            for source, refs in rows
        ]
