"""Start a grader that marks notebooks which never end, or one after another."""

import sys
from autograder.sandbox.session import Session, Template

_, name, moment = sys.argv
template = Template(preload=[name])
if moment == "start":
    print("started", flush=True)
while True:
    with Session(template) as session:
        session.run("import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(600)")
        if moment == "middle":
            print("started", flush=True)
            session.run("while True: pass")
        session.run("x = sum(range(10**6))")
