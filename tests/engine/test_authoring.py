"""Tests that authors' runs of notebooks wait for a kernel's reply, and not for a signal that may be lost."""

import asyncio
from queue import Empty

import pytest

from autograder.authoring import looking_again


class Asleep:
    """A channel whose reply comes after some looks, and that wakes nobody: whoever waits, waits until the end."""

    def __init__(self, looks):
        self.left = looks
        self.waited = []

    async def get(self, timeout=None):
        self.waited.append(timeout)
        self.left -= 1
        if self.left > 0:
            await asyncio.sleep(timeout)
            raise Empty
        return "done"


def test_a_reply_whose_signal_is_lost_is_found_by_looking_again():
    for timeout in (600, None):
        channel = Asleep(looks=4)
        assert asyncio.run(looking_again(channel.get, every=0.01)(timeout=timeout)) == "done"
        assert channel.waited == [0.01] * 4


def test_who_does_not_reply_in_time_is_not_waited_for_any_longer():
    channel = Asleep(looks=1000)
    with pytest.raises(Empty):
        asyncio.run(looking_again(channel.get, every=0.01)(timeout=0.055))
    assert 0 < sum(channel.waited) <= 0.055 + 1e-9
