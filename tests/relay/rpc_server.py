"""A server of TVM's RPC until stdin is closed: prints its port.

``tvm.rpc.Server`` runs the same in a process of its own, for which it needs cloudpickle.
"""

import os

from tvm.rpc.server import PopenRPCServerState

if __name__ == "__main__":
    print(PopenRPCServerState("127.0.0.1", 9290, 9990, silent=True).port, flush=True)
    os.read(0, 1)  # sys.stdin.read() would hold a lock that the server's processes wait for
    os._exit(0)
