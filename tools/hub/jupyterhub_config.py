"""JupyterHub's configuration for `make hub`. `classroom.py` starts it and passes paths, ports and passwords."""

import json
import os
import secrets
import sys
from pathlib import Path

from jupyterhub.auth import Authenticator
from jupyterhub.spawner import LocalProcessSpawner

c = get_config()  # noqa: F821

SAID = json.loads(os.environ.pop("COURSE_HUB"))  # only root can read the hub's environment
HUB, PASSWORDS, PLACES = Path(SAID["hub"]), SAID["passwords"], SAID["places"]


class OwnPassword(Authenticator):
    """Checks each user's own random password. JupyterHub's authenticators for trying out have one for all users."""

    async def authenticate(self, handler, data):
        wanted = PASSWORDS.get(data["username"])
        if wanted is None or not secrets.compare_digest(data["password"].encode(), wanted.encode()):
            return None
        return data["username"]


class IsolatedSpawner(LocalProcessSpawner):
    """Starts a server as its user, in a view of the file system without the checkout, through `enter.py`."""

    def make_preexec_fn(self, name):
        return None

    async def start(self):
        position = PLACES[self.user.name]
        self.cmd = [*position["enter"], str(Path(sys.executable).parent / "jupyterhub-singleuser")]
        self.notebook_dir, self.default_url = position["folder"], position["opens"]
        self.environment = position["environment"]
        return await super().start()


c.JupyterHub.authenticator_class = OwnPassword
c.OwnPassword.allowed_users = set(PASSWORDS)
c.JupyterHub.spawner_class = IsolatedSpawner
c.IsolatedSpawner.start_timeout = c.IsolatedSpawner.http_timeout = 180
c.IsolatedSpawner.interrupt_timeout, c.IsolatedSpawner.term_timeout = 10, 5

# Listen on this machine only.
c.JupyterHub.bind_url = f"http://127.0.0.1:{SAID['ports'][0]}"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{SAID['ports'][1]}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{SAID['ports'][2]}"
c.ConfigurableHTTPProxy.command = SAID["proxy"]
c.Spawner.ip = "127.0.0.1"

c.JupyterHub.db_url = f"sqlite:///{HUB}/hub/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = f"{HUB}/hub/cookie_secret"
c.ConfigurableHTTPProxy.pid_file = f"{HUB}/hub/proxy.pid"
c.JupyterHub.cleanup_servers = True
