"""XRT's Python module as run.py calls it: the "NPU" multiplies what GEMM says: {"m", "n", "k", "c", "shift", "turned", "wrong"}."""
import enum
import json
import os

import numpy as np

GEMM = json.loads(os.environ["GEMM"])


class xclBOSyncDirection(enum.Enum):
    XCL_BO_SYNC_BO_TO_DEVICE = 0
    XCL_BO_SYNC_BO_FROM_DEVICE = 1


class ert_cmd_state(enum.Enum):
    ERT_CMD_STATE_COMPLETED = 4


class device:
    def __init__(self, index):
        pass

    def register_xclbin(self, xclbin):
        pass


class xclbin:
    def __init__(self, path):
        pass

    def get_uuid(self):
        return 0


class hw_context:
    def __init__(self, device, uuid):
        pass


class bo:
    cacheable, host_only = 0, 1

    def __init__(self, device, size, kind, group):
        self.data = np.zeros(size, np.uint8)

    def write(self, values, offset):
        self.data[offset : offset + len(values)] = values

    def read(self, size, offset):
        return self.data[offset : offset + size].view(np.int8)

    def sync(self, direction, size, offset):
        pass


class kernel:
    def __init__(self, context, name):
        assert name == "MLIR_AIE"

    def group_id(self, index):
        return index

    def __call__(self, opcode, program, length, a, b, c, *zeros):
        g = GEMM
        a = a.data.view(np.int8).reshape(g["m"], g["k"]).astype(np.float64)
        b = b.data.view(np.int8).astype(np.float64).reshape((g["n"], g["k"]) if g["turned"] else (g["k"], g["n"]))
        sums = np.rint(a @ (b.T if g["turned"] else b) / 2 ** g["shift"])
        limits = np.iinfo(g["c"])
        out = np.clip(sums, limits.min, limits.max).astype(g["c"]).ravel()
        if g["wrong"]:
            out[g["m"] * g["n"] // 3] ^= 1
        c.data[:] = out.view(np.uint8)
        return self

    def wait(self):
        return ert_cmd_state.ERT_CMD_STATE_COMPLETED
