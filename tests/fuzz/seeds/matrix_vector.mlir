aie.device(npu1_1col) {
  func.func private @zero_vectorized_i32(memref<32xi32>)
  func.func private @matvec_vectorized_i16_i32(memref<32x48xi16>, memref<48xi16>, memref<32xi32>)
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %tile = aie.tile(0, 2)
  aie.objectfifo @memA(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<1536xi16>>
  aie.objectfifo @inA(%mem dimensionsToStream [<size = 24, stride = 2>, <size = 32, stride = 48>, <size = 2, stride = 1>], {%tile}, 2 : i32) : !aie.objectfifo<memref<32x48xi16>>
  aie.objectfifo.link [@memA] -> [@inA]()
  aie.objectfifo @outC(%tile, {%shim}, 2 : i32) : !aie.objectfifo<memref<32xi32>>
  aie.objectfifo @inB(%shim, {%tile}, 2 : i32) : !aie.objectfifo<memref<48xi16>>
  aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %ever = arith.constant 4294967295 : index
    scf.for %arg0 = %c0 to %ever step %c1 {
      %0 = aie.objectfifo.acquire @outC(Produce, 1) : !aie.objectfifosubview<memref<32xi32>>
      %1 = aie.objectfifo.subview.access %0[0] : !aie.objectfifosubview<memref<32xi32>> -> memref<32xi32>
      func.call @zero_vectorized_i32(%1) : (memref<32xi32>) -> ()
      scf.for %arg1 = %c0 to %c2 step %c1 {
        %2 = aie.objectfifo.acquire @inA(Consume, 1) : !aie.objectfifosubview<memref<32x48xi16>>
        %3 = aie.objectfifo.subview.access %2[0] : !aie.objectfifosubview<memref<32x48xi16>> -> memref<32x48xi16>
        %4 = aie.objectfifo.acquire @inB(Consume, 1) : !aie.objectfifosubview<memref<48xi16>>
        %5 = aie.objectfifo.subview.access %4[0] : !aie.objectfifosubview<memref<48xi16>> -> memref<48xi16>
        func.call @matvec_vectorized_i16_i32(%3, %5, %1) : (memref<32x48xi16>, memref<48xi16>, memref<32xi32>) -> ()
        aie.objectfifo.release @inA(Consume, 1)
        aie.objectfifo.release @inB(Consume, 1)
      }
      aie.objectfifo.release @outC(Produce, 1)
    }
    aie.end
  } {link_with = "mv.o"}
  aiex.runtime_sequence(%arg0: memref<6144xi16>, %arg1: memref<96xi16>, %arg2: memref<64xi32>) {
    %0 = aiex.dma_configure_task_for @outC {
      aie.dma_bd(%arg2 : memref<64xi32>, 0, 64) {bd_id = 0 : i32}
      aie.end
    } {issue_token = true}
    %1 = aiex.dma_configure_task_for @memA {
      aie.dma_bd(%arg0 : memref<6144xi16>, 0, 3072, [<size = 2, stride = 3072>, <size = 2, stride = 48>, <size = 32, stride = 96>, <size = 48, stride = 1>])
      aie.end
    } {repeat_count = 1 : i32}
    %2 = aiex.dma_configure_task_for @inB {
      aie.dma_bd(%arg1 : memref<96xi16> offset = 0 len = 96 sizes = [2, 1, 1, 96] strides = [0, 0, 0, 1])
      aie.end
    } {repeat_count = 1 : i32}
    aiex.dma_start_task(%0)
    aiex.dma_start_task(%1)
    aiex.dma_start_task(%2)
    aiex.dma_await_task(%0)
    aiex.dma_free_task(%1)
  }
}
