import signal
import threading

import pytest

from ffai.core.embeddings.fair_lock import FairLock


def test_one_thread_at_a_time_is_inside():
    lock, inside, most = FairLock(), [], []

    def work():
        for _ in range(300):
            with lock:
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}
    assert len(most) == 2400


def test_a_thread_that_takes_it_again_and_again_lets_others_in():
    lock, stop, turns = FairLock(), threading.Event(), []

    def greedy():
        while not stop.is_set():
            with lock:
                turns.append("greedy")

    thread = threading.Thread(target=greedy)
    thread.start()
    for _ in range(100):
        with lock:
            turns.append("patient")
    stop.set()
    thread.join()
    assert turns.count("patient") == 100


def test_an_error_inside_gives_it_back():
    lock = FairLock()
    with pytest.raises(ValueError), lock:
        raise ValueError
    with lock:
        pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
def test_ctrl_c_while_waiting_leaves_the_lock_usable():
    lock, held, release = FairLock(), threading.Event(), threading.Event()

    def holder():
        with lock:
            held.set()
            release.wait()

    def interrupt(*_):
        raise KeyboardInterrupt

    thread = threading.Thread(target=holder)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        thread.start()
        held.wait()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt), lock:
            pass
    finally:
        signal.signal(signal.SIGALRM, before)
        release.set()
        thread.join()
    with lock:
        pass
