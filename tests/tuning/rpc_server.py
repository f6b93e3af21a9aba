"""A server of TVM's RPC at a tracker until stdin is closed: ``rpc_server.py PORT KEY``."""

import os
import sys

from tvm.rpc.server import PopenRPCServerState

if __name__ == "__main__":
    tracker = ("127.0.0.1", int(sys.argv[1]))
    state = PopenRPCServerState(
        "127.0.0.1", 9400, 9990, tracker_addr=tracker, key=sys.argv[2], silent=True
    )
    print(state.port, flush=True)
    os.read(0, 1)  # sys.stdin.read() would hold a lock that the server's processes wait for
    os._exit(0)
