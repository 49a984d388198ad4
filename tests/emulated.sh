#!/bin/sh
# emulated.sh CPU TEST - runs a test on a CPU that QEMU emulates: one that lacks what this one has. 77 (skipped) without QEMU.
#
# QEMU 7.2 knows AVX2 but not AVX-512; its reads under a mask touch what a CPU would not (guarded.h).
command -v qemu-x86_64 >/dev/null || { echo "skipped: no qemu-x86_64 here; apt-get install qemu-user"; exit 77; }
TW_TEST_EMULATED=1 exec qemu-x86_64 -cpu "$1" "$2" 2>&1
