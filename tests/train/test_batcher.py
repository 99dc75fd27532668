"""Concurrent calls as batches: same results, own errors, cancellation, threads, loops, forks."""

import asyncio
import inspect
import multiprocessing
import pickle
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import tensormt as tm
from tensormt.train.batcher import Batcher, batched
from tensormt.train.text_reward import TextReward

WORDS = "the a big small dog cat sees finds".split()


class Doubled:
    """A function of a list that keeps the sizes of its batches; negative numbers are errors."""

    def __init__(self, seconds=0.0):
        self.sizes, self.seconds = [], seconds

    def __call__(self, numbers):
        self.sizes.append(len(numbers))
        time.sleep(self.seconds)
        if min(numbers) < 0:
            raise ValueError(f"negative: {min(numbers)}")
        return [2 * k for k in numbers]


async def gather(score, samples, **more):
    return await asyncio.gather(*(score(*sample) for sample in samples), **more)


def test_results_equal_the_batch_in_any_order():
    rng = random.Random(3)

    def line():
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 8)))

    samples = [(line(), [line() for _ in range(rng.randint(1, 3))]) for _ in range(60)]
    for name in ("bleu:effective_order=true", "chrf"):
        reward = TextReward(tm.registry.make(name))
        expected = dict(enumerate(reward(*map(list, zip(*samples, strict=True))).tolist()))
        score = batched(reward, wait=0.01, most=17)

        async def one(k, score=score):
            await asyncio.sleep(rng.random() / 50)
            return k, await score(*samples[k])

        async def run(one=one):
            order = rng.sample(range(60), 60)
            return dict(await asyncio.gather(*map(one, order)))

        assert asyncio.run(run()) == pytest.approx(expected, abs=1e-12)


def test_concurrent_calls_are_one_batch():
    function = Doubled()
    score = batched(function, wait=0.1)
    assert inspect.iscoroutinefunction(score)
    assert asyncio.run(gather(score, [(k,) for k in range(50)])) == [2 * k for k in range(50)]
    assert function.sizes == [50]


def test_a_full_batch_does_not_wait():
    function = Doubled()
    begin = time.perf_counter()
    asyncio.run(gather(batched(function, wait=20, most=5), [(k,) for k in range(10)]))
    assert time.perf_counter() - begin < 10
    assert function.sizes == [5, 5]


def test_an_error_reaches_its_own_caller():
    function = Doubled()
    numbers = [3, -1, 4, 5, -2, 6, 7]
    score = batched(function, wait=0.1)
    found = asyncio.run(gather(score, [(k,) for k in numbers], return_exceptions=True))
    for number, value in zip(numbers, found, strict=True):
        if number < 0:
            assert isinstance(value, ValueError)
            assert str(value) == f"negative: {number}"
        else:
            assert value == 2 * number
    assert asyncio.run(score(8)) == 16  # it goes on


def test_texts_that_cannot_be_scored_do_not_harm_others():
    score = batched(TextReward(tm.BLEU(1)), wait=0.1)
    samples = [("a", ["a"]), ("b", []), ("c", ["c"]), (7, ["c"])]
    found = asyncio.run(gather(score, samples, return_exceptions=True))
    assert [found[0], found[2]] == pytest.approx([100, 100])
    assert isinstance(found[1], tm.TensorMTError)
    assert isinstance(found[3], tm.TensorMTError)


def test_what_was_cancelled_is_left_out():
    function = Doubled(0.05)

    async def run():
        score = batched(function, wait=0.1)
        tasks = [asyncio.create_task(score(k)) for k in range(4)]
        await asyncio.sleep(0.02)
        tasks[1].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(found[1], asyncio.CancelledError)
        assert [found[0], *found[2:]] == [0, 4, 6]
        # while its batch is computed: the others get their results
        tasks = [asyncio.create_task(score(k)) for k in range(3)]
        await asyncio.sleep(0.12)
        tasks[0].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert found[1:] == [2, 4]
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(score(1), 0.01)

    asyncio.run(run())
    assert function.sizes[:2] == [3, 3]


def test_event_loops_of_several_threads_share_batches():
    function = Doubled(0.01)
    score = batched(function, wait=0.2)
    start = threading.Barrier(4)

    def run(first):
        start.wait()
        return asyncio.run(gather(score, [(first + k,) for k in range(25)]))

    with ThreadPoolExecutor(4) as pool:
        for number, found in enumerate(pool.map(run, range(0, 400, 100))):
            assert found == [2 * (100 * number + k) for k in range(25)]
    assert len(function.sizes) < 4  # not a batch for each loop
    assert sum(function.sizes) == 100


def test_a_loop_that_ended_does_not_stop_others():
    function = Doubled(0.1)
    score = batched(function, wait=0.0)

    async def leave():
        left = asyncio.ensure_future(score(1))
        await asyncio.sleep(0.05)
        assert not left.done()

    asyncio.run(leave())
    assert asyncio.run(score(2)) == 4


def test_threads_without_a_loop():
    batcher = Batcher(Doubled(), wait=0.05)
    futures = [batcher.submit(k) for k in range(10)]
    assert [future.result() for future in futures] == [2 * k for k in range(10)]
    assert batcher.function.sizes == [10]


def test_no_thread_is_left():
    before = threading.active_count()
    score = batched(Doubled(), wait=0.001)
    asyncio.run(gather(score, [(k,) for k in range(3)]))
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_pickled():
    score = pickle.loads(pickle.dumps(batched(Doubled())))
    assert asyncio.run(score(2)) == 4


def _in_child(score, queue):
    queue.put(asyncio.run(asyncio.wait_for(score(21), 10)))


def test_after_a_fork():
    context = multiprocessing.get_context("fork")
    batcher = Batcher(Doubled(0.5), wait=0.0)
    waiting = [batcher.submit(1), batcher.submit(2)]  # the thread is at work when the fork happens
    time.sleep(0.1)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(batcher.call, queue))
    child.start()
    assert queue.get(timeout=30) == 42
    child.join()
    assert [future.result() for future in waiting] == [2, 4]


def test_functions_that_do_not_keep_their_word():
    with pytest.raises(tm.TensorMTError, match="gave 0 results for a batch of 1"):
        asyncio.run(batched(lambda numbers: [])(1))

    def stop(numbers):
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(asyncio.wait_for(batched(stop)(1), 10))


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (3, {}, "needs a function"),
        (Doubled(), {"wait": -1}, "expected seconds"),
        (Doubled(), {"wait": "1"}, "expected seconds"),
        (Doubled(), {"most": 0}, "from 1"),
        (Doubled(), {"most": 2.5}, "from 1"),
    ],
)
def test_arguments_are_checked(function, options, message):
    with pytest.raises(tm.TensorMTError, match=message):
        batched(function, **options)
