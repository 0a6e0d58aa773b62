"""Ends a process of the engine when the one that started it is gone.

end_with_parent()      # in the engine's process; if the server is killed, SIGTERM comes here

vLLM's engine goes on for a server that was killed, with its requests and with all memory of the GPU. A
container or a systemd unit ends what is left of it; a shell does not.
"""

import multiprocessing
import os
import signal
import threading


def end_with_parent() -> None:
    """Send SIGTERM to this process once its parent has ended; nothing in a program's own process."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()
