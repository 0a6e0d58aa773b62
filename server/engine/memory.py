"""The server's memory: what the garbage collector leaves alone, and what goes back to the system.

    set_heap_aside()     # once, when all that stays has been loaded
    return_memory()      # when something large has gone, such as an engine that died

With vLLM some 600,000 objects stay as long as the server does.
"""

import ctypes
import gc


def set_heap_aside() -> None:
    """Keep the garbage collector from looking through what stays as long as the server does.

    With vLLM all streams would wait for some 0.2 s each time.
    """
    gc.collect()
    gc.freeze()


def return_memory() -> None:
    """Free what nothing refers to any more, objects set aside included, and give its pages back.

    What is dead is often held by cycles, and few objects hold much that is not Python's: the collector, which
    counts objects, would wait for several engines to die. It takes some 0.3 s, in which nothing else runs.
    """
    aside = gc.get_freeze_count() > 0
    gc.unfreeze()
    gc.collect()
    if aside:
        gc.freeze()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # only glibc keeps what was freed, in an arena for each thread
        trim(0)
