"""Puts the simulated run beside what the NPU recorded: overlay.py trace.json simulated.json overlay.json

trace.json: as mlir-aie's aie.utils.trace.parse writes it, times in cycles. simulated.json: of `tilewright run --trace`, times in
microseconds. Both begin with the first kernel call of the first core that both have. Prints, for each such core, the median
cycles of a call and of the time between two calls."""
import json
import re
import statistics
import sys

CLOCK_MHZ = @CLOCK@
RECORDED, SIMULATED = 1, 2  # processes of the overlay


def recorded_calls(events):
    """Of each core (column, row): the kernel calls as (begin, end), in cycles."""
    cores = {}
    for e in events:
        if e["ph"] != "M" or e["name"] != "process_name" or "core_trace" not in e["args"]["name"]:
            continue
        place = re.search(r"tile\(?(\d+), ?(\d+)\)?", e["args"]["name"])  # row, column
        if place:
            cores[e["pid"]] = (int(place[2]), int(place[1]))
    calls = {core: [] for core in cores.values()}
    begun = {}
    for e in sorted((e for e in events if e["ph"] == "B" and e["pid"] in cores), key=lambda e: e["ts"]):
        core = cores[e["pid"]]
        if e["name"] == "INSTR_EVENT_0":
            begun[core] = e["ts"]
        elif e["name"] == "INSTR_EVENT_1" and core in begun:  # the buffer may begin within a call
            calls[core].append((begun.pop(core), e["ts"]))
    return calls


def simulated_calls(events):
    calls = {}
    for e in events:
        lane = re.fullmatch(r"core(\d+)\.(\d+)", str(e.get("tid", "")))
        if e["ph"] == "X" and lane and e["name"].startswith("matmul_"):
            begin = e["ts"] * CLOCK_MHZ
            calls.setdefault((int(lane[1]), int(lane[2])), []).append((begin, begin + e["dur"] * CLOCK_MHZ))
    return {core: sorted(spans) for core, spans in calls.items()}


def medians(calls):
    """Cycles of a call, and between two."""
    between = [b[0] - a[1] for a, b in zip(calls, calls[1:])]
    return statistics.median(e - b for b, e in calls), statistics.median(between) if between else 0


def spans(process, name, calls, origin):
    yield {"name": "process_name", "ph": "M", "pid": process, "args": {"name": name}}
    for (column, row), of_core in sorted(calls.items()):
        for begin, end in of_core:
            yield {"name": "call", "ph": "X", "pid": process, "tid": f"core{column}.{row}",
                   "ts": (begin - origin) / CLOCK_MHZ, "dur": (end - begin) / CLOCK_MHZ}


def events_of(file):
    with open(file) as opened:
        data = json.load(opened)
    return data["traceEvents"] if isinstance(data, dict) else data


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__.splitlines()[0])
    recorded, simulated = recorded_calls(events_of(sys.argv[1])), simulated_calls(events_of(sys.argv[2]))
    both = sorted(core for core in recorded if recorded[core] and simulated.get(core))
    if not both:
        raise SystemExit("overlay.py: no core has calls in both files; trace.json must have INSTR_EVENT_0 and INSTR_EVENT_1")
    print("core    calls recorded, simulated   cycles of a call        between two calls")
    for core in both:
        call, between = zip(medians(recorded[core]), medians(simulated[core]))
        print(f"{core[0]},{core[1]}    {len(recorded[core]):14d} {len(simulated[core]):9d}   {call[0]:.0f}, {call[1]:.0f} "
              f"({100 * (call[1] / call[0] - 1):+.1f}%)   {between[0]:.0f}, {between[1]:.0f}")
    overlay = [*spans(RECORDED, "recorded", recorded, recorded[both[0]][0][0]),
               *spans(SIMULATED, "simulated", simulated, simulated[both[0]][0][0])]
    with open(sys.argv[3], "w") as opened:
        json.dump(overlay, opened)


main()
