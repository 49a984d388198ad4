# Runs gemm.xclbin with insts.bin on the NPU on the inputs of operands.bin, times it, and compares what comes of them.
import sys
import time

import numpy as np
import pyxrt

OPERATIONS = @OPERATIONS@
SIZES = [@SIZES@]  # bytes of A, B, C, and a page of zeros if the design needs one
GIVEN = [@GIVEN@]  # where A and B lie in operands.bin
TYPE, EXPECTED, PLACES = "@TYPE@", @EXPECTED@, @PLACES@  # of C; places: triples of element, value, bound; 0: all of its bytes
TRACED = @TRACED@  # bytes of the buffer for the trace, the last argument; 0: none
RUNS = 1 if TRACED else 20
TO, FROM = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE, pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE


def numbers(data):
    if TYPE == "bf16":
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return data.view(TYPE)


def wrong(file, data):
    """The first wrong element, or None."""
    if PLACES:
        at, value, bound = np.frombuffer(file, np.float64, 3 * PLACES, EXPECTED).reshape(-1, 3).T
        off = ~(np.abs(numbers(data)[at.astype(np.int64)].astype(np.float64) - value) <= bound)
        return int(at[off][0]) if off.any() else None
    off = np.nonzero(numbers(data) != numbers(np.frombuffer(file, np.uint8, len(data), EXPECTED)))[0]
    return int(off[0]) if len(off) else None


with open("operands.bin", "rb") as opened:
    file = opened.read()
device = pyxrt.device(0)
xclbin = pyxrt.xclbin("gemm.xclbin")
device.register_xclbin(xclbin)
context = pyxrt.hw_context(device, xclbin.get_uuid())
kernel = pyxrt.kernel(context, "MLIR_AIE")

instructions = np.fromfile("insts.bin", dtype=np.uint32)
program = pyxrt.bo(device, instructions.nbytes, pyxrt.bo.cacheable, kernel.group_id(1))
program.write(instructions.view(np.uint8), 0)
program.sync(TO, instructions.nbytes, 0)

data = [np.frombuffer(file, np.uint8, size, at) for size, at in zip(SIZES, GIVEN)]
data += [np.full(SIZES[2], 0xFF, np.uint8)] + [np.zeros(size, np.uint8) for size in SIZES[3:]]
buffers = [pyxrt.bo(device, size, pyxrt.bo.host_only, kernel.group_id(3 + i)) for i, size in enumerate(SIZES)]
for buffer, values in zip(buffers, data):
    buffer.write(values, 0)
    buffer.sync(TO, values.nbytes, 0)

best = float("inf")
for _ in range(RUNS):
    start = time.perf_counter()
    state = kernel(3, program, len(instructions), *buffers).wait()
    best = min(best, time.perf_counter() - start)
    if state != pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED:
        raise SystemExit(f"the NPU says {state}")
print(f"{best * 1e6:.0f} us, {OPERATIONS / best * 1e-12:.2f} Tflop/s")

if TRACED:
    buffers[-1].sync(FROM, TRACED, 0)
    with open("trace.txt", "w") as opened:
        opened.writelines(f"{word:08x}\n" for word in np.array(buffers[-1].read(TRACED, 0)).view(np.uint32))

if TYPE:
    buffers[2].sync(FROM, SIZES[2], 0)
    place = wrong(file, np.array(buffers[2].read(SIZES[2], 0)).view(np.uint8))
    print("right: @COMPARED@" if place is None else f"WRONG: element {place} of C, counted in memory")
    sys.exit(place is not None)
