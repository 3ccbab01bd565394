# Copy of transformer_exercises/shared_modules/resumable.py: edit that file, then run `autograder release`.
"""Stop a training, and resume it later.

    going = resumable.steps(range(1000), model, optimizer, schedule, generator, losses, desc="training")
    for step in going:
        ...

Press ■ (in command mode: I twice) while it runs. The step that is being made is finished, one more is made, in which
`going.last` is true, and the loop ends as if there were no more steps: what stands below works with what was reached.
Run the same cell again, and the loop begins after the last step that was made, with the numbers that it would have had.
A second ■ ends it at once, and then nothing is kept.

What makes this possible is a checkpoint: copies of all that a step reads and changes. It is held in memory only.
"""

import contextlib
import copy
import hashlib
import signal
import sys
from collections.abc import Iterator
from types import FunctionType

import torch
from tqdm.auto import tqdm

_stopped: dict = {}  # by how a run began: (steps made, states of its parts, states of the global generators)


class steps:  # used like range
    """Each of `over`, from where the same run was stopped; else from the beginning.

    parts: all that the run changes. What has a state_dict (models, optimisers, schedules) and generators of random
    numbers get the state back that they had, lists their items; of an iterator, what was taken is taken again. The same
    run is one that begins with the same states, in the same code: after a change of either, or a restart, it begins
    anew. TypeError for a part of another kind.
    """

    made = 0  # steps of the loop that ended last, without those before it was stopped

    def __init__(self, over: range, *parts, desc: str = "training"):
        self.over, self.parts, self.desc = over, parts, desc
        self.last = False  # whether the step that is being made is the last one
        self._pressed = False
        self._run = over, _code(sys._getframe(1)), _classes(parts), _digest([_state(part) for part in parts])

    def __iter__(self):
        before, total = self._restored(), len(self.over)
        done = before
        with self._waits_for_a_press(), tqdm(total=total, initial=done, desc=self.desc) as bar:
            while done < total:
                stops = self._pressed  # pressed during a step: one more is made
                self.last = stops or done == total - 1
                yield self.over[done]
                done += 1
                bar.update()
                if stops:
                    break
        steps.made = done - before
        if done < total:
            _stopped[self._run] = done, copy.deepcopy([_state(part) for part in self.parts]), _chance()
            print(f"Stopped after step {done:,} of {total:,}. What stands below works with what was reached.")
            print("Run this cell again, and it goes on from here.")
        else:
            _stopped.pop(self._run, None)

    def _restored(self):
        """Return the steps that were made, with all parts as they were after them."""
        done, states, chance = _stopped.get(self._run, (0, [], None))
        for part, state in zip(self.parts, states, strict=False):  # none, where nothing was stopped
            _restore(part, copy.deepcopy(state), done)
        if done:
            _set_chance(chance)
            print(f"Goes on after step {done:,}, where it was stopped. (From the beginning: restart the kernel.)")
        return done

    @contextlib.contextmanager
    def _waits_for_a_press(self):
        def press(number, frame):
            if self._pressed:
                raise KeyboardInterrupt
            self._pressed = True

        try:
            before = signal.signal(signal.SIGINT, press)
        except ValueError:  # Python takes signals in its main thread only
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


# --- the state of a part ----------------------------------------------------------------------------------------------


def _state(part):
    if hasattr(part, "state_dict"):
        return part.state_dict()
    if isinstance(part, torch.Generator):
        return part.get_state()
    if isinstance(part, list):
        return list(part)
    if isinstance(part, Iterator):
        return None
    raise TypeError(f"a {type(part).__name__} cannot be brought back to where it was: give what changes it")


def _restore(part, state, done):
    if hasattr(part, "load_state_dict"):
        part.load_state_dict(state)
    elif isinstance(part, torch.Generator):
        part.set_state(state)
    elif isinstance(part, list):
        part[:] = state
    else:
        for _ in range(done):
            next(part)


def _chance():
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


def _set_chance(states):
    torch.set_rng_state(states[0])
    if states[1]:
        torch.cuda.set_rng_state_all(states[1])


# --- whether it is the same run ---------------------------------------------------------------------------------------


def _code(frame):
    """Return the code between the loop and its cell, and the functions and numbers which this code names."""
    found = []
    while frame is not None:
        found.append(frame.f_code)
        named = [frame.f_globals.get(name) for name in frame.f_code.co_names]
        found += [function.__code__ for function in named if isinstance(function, FunctionType)]
        if frame.f_locals is frame.f_globals:  # the cell itself, which may name what it is about to set
            break
        found += [number for number in named if isinstance(number, (int, float))]
        frame = frame.f_back
    return tuple(found)


def _classes(parts):
    """Return the classes that models are made of: a class whose cell was run again is another one."""
    return frozenset(type(module) for part in parts if isinstance(part, torch.nn.Module) for module in part.modules())


def _digest(value):
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest, value):
    if isinstance(value, torch.Tensor):
        digest.update(value.detach().cpu().reshape(-1).view(torch.uint8).numpy())
    elif isinstance(value, dict):
        _feed(digest, list(value.items()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            _feed(digest, item)
    elif isinstance(value, (str, int, float)):
        digest.update(repr(value).encode())


def redraw(live, draw, *args, **options):
    """Draw again where `live = display(…, display_id=True)` stands."""
    from IPython.utils.capture import capture_output

    with capture_output() as kept:
        draw(*args, **options)
    live.update(kept.outputs[-1])
