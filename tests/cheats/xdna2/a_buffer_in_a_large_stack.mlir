// does not build | overlaps the core's stack | gemm m=64 n=64 k=64 a=i8 b=i8 c=i32 -t xdna2
// a part of A is in a stack that is larger than usual
module {
  aie.device(npu2) {
    func.func private @zero_i32(memref<32x32xi32>)
    func.func private @matmul_i8_i32(memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>)
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    %tile = aie.tile(0, 2)
    %a0 = aie.buffer(%tile) {address = 1024 : i32, sym_name = "a0"} : memref<32x32xi8>
    %a1 = aie.buffer(%tile) {sym_name = "a1"} : memref<32x32xi8>
    %b0 = aie.buffer(%tile) {sym_name = "b0"} : memref<32x32xi8>
    %b1 = aie.buffer(%tile) {sym_name = "b1"} : memref<32x32xi8>
    %c0 = aie.buffer(%tile) {sym_name = "c0"} : memref<32x32xi32>
    %a_free = aie.lock(%tile, 0) {init = 2 : i32, sym_name = "a_free"}
    %a_full = aie.lock(%tile, 1) {init = 0 : i32, sym_name = "a_full"}
    %b_free = aie.lock(%tile, 2) {init = 2 : i32, sym_name = "b_free"}
    %b_full = aie.lock(%tile, 3) {init = 0 : i32, sym_name = "b_full"}
    %c_free = aie.lock(%tile, 4) {init = 1 : i32, sym_name = "c_free"}
    %c_full = aie.lock(%tile, 5) {init = 0 : i32, sym_name = "c_full"}
    %la = aie.buffer(%mem) : memref<1024xi8>
    %lb = aie.buffer(%mem) : memref<1024xi8>
    %lc = aie.buffer(%mem) : memref<1024xi32>
    %la_free = aie.lock(%mem, 0) {init = 1 : i32}
    %la_full = aie.lock(%mem, 1)
    %lc_free = aie.lock(%mem, 2) {init = 1 : i32}
    %lc_full = aie.lock(%mem, 3)
    %lb_free = aie.lock(%mem, 4) {init = 1 : i32}
    %lb_full = aie.lock(%mem, 5)
    aie.flow(%shim, DMA : 0, %mem, DMA : 0)
    aie.flow(%mem, DMA : 0, %tile, DMA : 0)
    aie.flow(%shim, DMA : 1, %mem, DMA : 2)
    aie.flow(%mem, DMA : 2, %tile, DMA : 1)
    aie.flow(%tile, DMA : 0, %mem, DMA : 1)
    aie.flow(%mem, DMA : 1, %shim, DMA : 0)
    aie.core(%tile) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %ever = arith.constant 4294967295 : index
      scf.for %i = %zero to %ever step %one {
        aie.use_lock(%c_free, AcquireGreaterEqual, 1)
        func.call @zero_i32(%c0) : (memref<32x32xi32>) -> ()
        scf.for %k = %zero to %two step %two {
          aie.use_lock(%a_full, AcquireGreaterEqual, 1)
          aie.use_lock(%b_full, AcquireGreaterEqual, 1)
          func.call @matmul_i8_i32(%a0, %b0, %c0) : (memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>) -> ()
          aie.use_lock(%a_free, Release, 1)
          aie.use_lock(%b_free, Release, 1)
          aie.use_lock(%a_full, AcquireGreaterEqual, 1)
          aie.use_lock(%b_full, AcquireGreaterEqual)
          func.call @matmul_i8_i32(%a1, %b1, %c0) : (memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>) -> ()
          aie.use_lock(%a_free, Release, 1)
          aie.use_lock(%b_free, Release)
        }
        aie.use_lock(%c_full, Release, 1)
      }
      aie.end
    } {stack_size = 3328 : i32}
    aie.memtile_dma(%mem) {
      %0 = aie.dma_start(S2MM, 0, ^bb1, ^bb2)
    ^bb1:
      aie.use_lock(%la_free, AcquireGreaterEqual, 1)
      aie.dma_bd(%la : memref<1024xi8>, 0, 1024) {bd_id = 0 : i32, next_bd_id = 0 : i32}
      aie.use_lock(%la_full, Release, 1)
      aie.next_bd ^bb1
    ^bb2:
      %1 = aie.dma_start(MM2S, 0, ^bb3, ^bb4)
    ^bb3:
      aie.use_lock(%la_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%la : memref<1024xi8>, 0, 1024, [<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>])
      aie.use_lock(%la_free, Release, 1)
      aie.next_bd ^bb3
    ^bb4:
      %2 = aie.dma_start(S2MM, 1, ^bb5, ^bb6)
    ^bb5:
      aie.use_lock(%lc_free, AcquireGreaterEqual, 1)
      aie.dma_bd(%lc : memref<1024xi32>)
      aie.use_lock(%lc_full, Release, 1)
      aie.next_bd ^bb5
    ^bb6:
      %3 = aie.dma_start(MM2S, 1, ^bb7, ^bb8)
    ^bb7:
      aie.use_lock(%lc_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%lc : memref<1024xi32>, 0, 1024, [<size = 4, stride = 256>, <size = 8, stride = 8>, <size = 4, stride = 64>, <size = 8, stride = 1>])
      aie.use_lock(%lc_free, Release, 1)
      aie.next_bd ^bb7
    ^bb8:
      %4 = aie.dma_start(S2MM, 2, ^bb9, ^bb10)
    ^bb9:
      aie.use_lock(%lb_free, AcquireGreaterEqual, 1)
      aie.dma_bd(%lb : memref<1024xi8>, 0, 1024)
      aie.use_lock(%lb_full, Release, 1)
      aie.next_bd ^bb9
    ^bb10:
      %5 = aie.dma_start(MM2S, 2, ^bb11, ^bb12)
    ^bb11:
      aie.use_lock(%lb_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%lb : memref<1024xi8>, 0, 1024, [<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>])
      aie.use_lock(%lb_free, Release, 1)
      aie.next_bd ^bb11
    ^bb12:
      aie.end
    }
    aie.mem(%tile) {
      %0 = aie.dma_start(S2MM, 0, ^bb1, ^bb3)
    ^bb1:
      aie.use_lock(%a_free, AcquireGreaterEqual, 1)
      aie.dma_bd(%a0 : memref<32x32xi8>, 0, 1024)
      aie.use_lock(%a_full, Release, 1)
      aie.next_bd ^bb2
    ^bb2:
      aie.use_lock(%a_free, AcquireGreaterEqual, 1)
      aie.dma_bd(%a1 : memref<32x32xi8>, 0, 1024)
      aie.use_lock(%a_full, Release, 1)
      aie.next_bd ^bb1
    ^bb3:
      %1 = aie.dma_start(S2MM, 1, ^bb4, ^bb6)
    ^bb4:
      aie.use_lock(%b_free, AcquireGreaterEqual, 1)
      aie.dma_bd(%b0 : memref<32x32xi8>, 0, 1024)
      aie.use_lock(%b_full, Release, 1)
      aie.next_bd ^bb5
    ^bb5:
      aie.use_lock(%b_free, AcquireGreaterEqual, 1)
      aie.dma_bd(%b1 : memref<32x32xi8>, 0, 1024)
      aie.use_lock(%b_full, Release, 1)
      aie.next_bd ^bb4
    ^bb6:
      %2 = aie.dma_start(MM2S, 0, ^bb7, ^bb8)
    ^bb7:
      aie.use_lock(%c_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%c0 : memref<32x32xi32>, 0, 1024)
      aie.use_lock(%c_free, Release, 1)
      aie.next_bd ^bb7
    ^bb8:
      aie.end
    }
    aie.runtime_sequence(%A: memref<4096xi8>, %B: memref<4096xi8>, %C: memref<4096xi32>) {
      aiex.npu.dma_memcpy_nd(%C[0, 0, 0, 0][2, 2, 32, 32][2048, 32, 64, 1]) {id = 0 : i64, metadata = @outC} : memref<4096xi32>
      aiex.npu.dma_memcpy_nd(%A[0, 0, 0, 0][2, 2, 32, 32][0, 32, 64, 1]) {id = 1 : i64, metadata = @inA} : memref<4096xi8>
      aiex.npu.dma_memcpy_nd(%B[0, 0, 0, 0][2, 2, 32, 32][32, 2048, 64, 1]) {id = 2 : i64, metadata = @inB} : memref<4096xi8>
      aiex.npu.dma_memcpy_nd(%A[0, 0, 0, 2048][2, 2, 32, 32][0, 32, 64, 1]) {id = 3 : i64, metadata = @inA} : memref<4096xi8>
      aiex.npu.dma_memcpy_nd(%B[0, 0, 0, 0][2, 2, 32, 32][32, 2048, 64, 1]) {id = 4 : i64, metadata = @inB} : memref<4096xi8>
      aiex.npu.dma_wait {symbol = @outC}
    }
    aie.shim_dma_allocation @inA(%shim, MM2S, 0)
    aie.shim_dma_allocation @inB(MM2S, 1, 0)
    aie.shim_dma_allocation @outC(S2MM, 0, 0)
  }
}
