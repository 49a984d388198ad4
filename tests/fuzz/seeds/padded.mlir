aie.device(npu2) {
  func.func private @zero_scalar_i32(memref<32x32xi32>)
  func.func private @matmul_scalar_i8_i32(memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>)
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %tile = aie.tile(0, 2)
  aie.objectfifo @inA(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<32x24xi8>>
  aie.objectfifo @memA(%mem dimensionsToStream [<size = 32, stride = 24>, <size = 24, stride = 1>], {%tile}, 2 : i32) {padDimensions = #aie<bd_pad_layout_array[<const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 4, const_pad_after = 4>]>} : !aie.objectfifo<memref<32x32xi8>>
  aie.objectfifo.link [@inA] -> [@memA]([] [])
  aie.objectfifo @inB(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<24x32xi8>>
  aie.objectfifo @memB(%mem dimensionsToStream [<size = 24, stride = 32>, <size = 32, stride = 1>], {%tile}, 2 : i32) {padDimensions = #aie<bd_pad_layout_array[<const_pad_before = 4, const_pad_after = 4>, <const_pad_before = 0, const_pad_after = 0>]>} : !aie.objectfifo<memref<32x32xi8>>
  aie.objectfifo.link [@inB] -> [@memB]([] [])
  aie.objectfifo @memC(%tile, {%shim}, 2 : i32) : !aie.objectfifo<memref<32x32xi32>>
  aie.core(%tile) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %ever = arith.constant 4294967295 : index
    scf.for %i = %zero to %ever step %one {
      %c = aie.objectfifo.acquire @memC(Produce, 1) : !aie.objectfifosubview<memref<32x32xi32>>
      %c0 = aie.objectfifo.subview.access %c[0] : !aie.objectfifosubview<memref<32x32xi32>> -> memref<32x32xi32>
      func.call @zero_scalar_i32(%c0) : (memref<32x32xi32>) -> ()
      scf.for %k = %zero to %two step %one {
        %a = aie.objectfifo.acquire @memA(Consume, 1) : !aie.objectfifosubview<memref<32x32xi8>>
        %a0 = aie.objectfifo.subview.access %a[0] : !aie.objectfifosubview<memref<32x32xi8>> -> memref<32x32xi8>
        %b = aie.objectfifo.acquire @memB(Consume, 1) : !aie.objectfifosubview<memref<32x32xi8>>
        %b0 = aie.objectfifo.subview.access %b[0] : !aie.objectfifosubview<memref<32x32xi8>> -> memref<32x32xi8>
        func.call @matmul_scalar_i8_i32(%a0, %b0, %c0) : (memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>) -> ()
        aie.objectfifo.release @memA(Consume, 1)
        aie.objectfifo.release @memB(Consume, 1)
      }
      aie.objectfifo.release @memC(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence(%A: memref<64x48xi8>, %B: memref<48x64xi8>, %C: memref<64x64xi32>) {
    aiex.npu.dma_memcpy_nd(%C[0, 0, 0, 0][2, 2, 32, 32][2048, 32, 64, 1]) {id = 0 : i64, metadata = @memC} : memref<64x64xi32>
    aiex.npu.dma_memcpy_nd(%A[0, 0, 0, 0][2, 2, 32, 24][0, 24, 48, 1]) {id = 1 : i64, metadata = @inA} : memref<64x48xi8>
    aiex.npu.dma_memcpy_nd(%B[0, 0, 0, 0][2, 2, 24, 32][32, 1536, 64, 1]) {id = 2 : i64, metadata = @inB} : memref<48x64xi8>
    aiex.npu.dma_memcpy_nd(%A[0, 0, 0, 1536][2, 2, 32, 24][0, 24, 48, 1]) {id = 3 : i64, metadata = @inA} : memref<64x48xi8>
    aiex.npu.dma_memcpy_nd(%B[0, 0, 0, 0][2, 2, 24, 32][32, 1536, 64, 1]) {id = 4 : i64, metadata = @inB} : memref<48x64xi8>
    aiex.npu.dma_wait {symbol = @memC}
  }
}
