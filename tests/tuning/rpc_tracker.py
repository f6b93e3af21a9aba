"""A tracker of TVM's RPC until stdin is closed: prints its port.

``python -m tvm.exec.rpc_tracker`` runs the same until it is killed.
"""

import os

from tvm.rpc.tracker import PopenTrackerServerState

if __name__ == "__main__":
    print(PopenTrackerServerState("127.0.0.1", 9300, 9990, silent=True).port, flush=True)
    os.read(0, 1)
    os._exit(0)
