"""Two processes at once on one gradebook."""

import multiprocessing
import os
import subprocess
import sys

from nbgrader.api import Gradebook

from autograder.nbgrader_plugin.gradebook.locking import make_ready

STUDENTS = [f"student-{n}" for n in range(5)]


def run(folder, *commands):
    environment = {key: value for key, value in os.environ.items() if key not in ("COURSE_CLASSROOM", "PYTHONPATH")}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    programs = [[sys.executable, "-m", "nbgrader", *command] for command in commands]
    running = [subprocess.Popen(program, cwd=folder, env=environment, **streams) for program in programs]
    output = [process.communicate(timeout=300)[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(running), "\n".join(output)
    return output


def take_in(urls, barrier, outcomes):
    for url in urls:
        barrier.wait()
        try:
            make_ready(url, "transformers", STUDENTS)
            for student in STUDENTS:
                with Gradebook(url, "transformers") as gradebook:
                    gradebook.update_or_create_student(student)
            outcomes.put("")
        except Exception as problem:
            outcomes.put(f"{type(problem).__name__}: {problem}")
        barrier.wait()


def both(urls):
    context = multiprocessing.get_context("spawn")
    barrier, outcomes = context.Barrier(2), context.Queue()
    processes = [context.Process(target=take_in, args=(urls, barrier, outcomes)) for _ in range(2)]
    for process in processes:
        process.start()
    found = [outcomes.get(timeout=120) for _ in range(2 * len(urls))]
    for process in processes:
        process.join()
    return found
