"""Loop of the verifier of MSCCL XML: runs threadblocks as far as the slots of their connections let them."""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True, passes=lambda a: 4 * int(a.number.sum()))
def _run_flow(first, length, number, target, comes, goes, sender, receiver, slots):
    """Run threadblock t's steps ``first[t]``, ... each of ``number`` transfers; return (at, left, sent, received).

    A step waits until its ``target`` is complete (-1 for none); its transfers take from connection ``comes`` and put
    into ``goes`` (-1 for none), which have ``slots`` each. Whatever can move moves at once; the order does not matter,
    since nothing that can move is ever stopped by another. In the end threadblock t is at its step ``at[t]``, of which
    ``left[t]`` transfers are left if it has begun. Threadblocks that wait are woken by what they wait for.
    """
    num_blocks = first.size
    at = np.zeros(num_blocks, np.int64)
    left = np.zeros(num_blocks, np.int64)
    sent = np.zeros(sender.size, np.int64)
    received = np.zeros(sender.size, np.int64)
    is_complete = np.zeros(number.size, np.bool_)
    waiter = np.full(number.size, -1, np.int64)  # a list of blocks for each step, linked by ``others``
    others = np.full(num_blocks, -1, np.int64)
    is_listed = np.zeros(num_blocks, np.bool_)
    queue = np.arange(num_blocks)
    is_queued = np.ones(num_blocks, np.bool_)
    head, size = 0, num_blocks
    while size:
        t = queue[head]
        head = (head + 1) % num_blocks
        size -= 1
        is_queued[t] = False
        while at[t] < length[t]:
            s = first[t] + at[t]
            if left[t] == 0:
                if target[s] >= 0 and not is_complete[target[s]]:
                    if not is_listed[t]:
                        is_listed[t] = True
                        others[t] = waiter[target[s]]
                        waiter[target[s]] = t
                    break
                left[t] = number[s]
            some = left[t]
            if comes[s] >= 0:
                some = min(some, sent[comes[s]] - received[comes[s]])
            if goes[s] >= 0:
                some = min(some, slots - sent[goes[s]] + received[goes[s]])
            if some == 0:
                break
            left[t] -= some
            if comes[s] >= 0:
                received[comes[s]] += some
                woken = sender[comes[s]]
                if not is_queued[woken]:
                    is_queued[woken] = True
                    queue[(head + size) % num_blocks] = woken
                    size += 1
            if goes[s] >= 0:
                sent[goes[s]] += some
                woken = receiver[goes[s]]
                if not is_queued[woken]:
                    is_queued[woken] = True
                    queue[(head + size) % num_blocks] = woken
                    size += 1
            if left[t] == 0:
                is_complete[s] = True
                at[t] += 1
                woken = waiter[s]
                while woken >= 0:
                    is_listed[woken] = False
                    if not is_queued[woken]:
                        is_queued[woken] = True
                        queue[(head + size) % num_blocks] = woken
                        size += 1
                    woken = others[woken]
    return at, left, sent, received
