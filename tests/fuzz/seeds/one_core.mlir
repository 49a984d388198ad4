// one core
module {
  aie.device(npu2) {
    func.func private @zero_i32(memref<32x32xi32>) attributes {link_with = "mm.o"}
    func.func private @matmul_i8_i32(memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>) attributes {link_with = "mm.o"}
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    %tile = aie.tile(0, 2)
    aie.objectfifo @inA(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<1024xi8>>
    aie.objectfifo @memA(%mem dimensionsToStream [<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>], {%tile}, 2 : i32) : !aie.objectfifo<memref<32x32xi8>>
    aie.objectfifo.link [@inA] -> [@memA]([] [])
    aie.objectfifo @inB(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<1024xi8>>
    aie.objectfifo @memB(%mem toStream [<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>], {%tile}, [2, 2]) : !aie.objectfifo<memref<32x32xi8>>
    aie.objectfifo.link [@inB] -> [@memB]([] [])
    aie.objectfifo @memC(%tile, {%mem}, 2 : i32) : !aie.objectfifo<memref<32x32xi32>>
    aie.objectfifo @outC(%mem dimensionsToStream [<size = 4, stride = 256>, <size = 8, stride = 8>, <size = 4, stride = 64>, <size = 8, stride = 1>], {%shim}, 2 : i32) : !aie.objectfifo<memref<1024xi32>>
    aie.objectfifo.link [@memC] -> [@outC]([] [])
    %core = aie.core(%tile) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %ever = arith.constant 9223372036854775807 : index
      scf.for %i = %zero to %ever step %one {
        %c = aie.objectfifo.acquire @memC(Produce, 1) : !aie.objectfifosubview<memref<32x32xi32>>
        %c0 = aie.objectfifo.subview.access %c[0] : !aie.objectfifosubview<memref<32x32xi32>> -> memref<32x32xi32>
        func.call @zero_i32(%c0) : (memref<32x32xi32>) -> ()
        scf.for %k = %zero to %two step %one {
          %a = aie.objectfifo.acquire @memA(Consume, 1) : !aie.objectfifosubview<memref<32x32xi8>>
          %a0 = aie.objectfifo.subview.access %a[0] : !aie.objectfifosubview<memref<32x32xi8>> -> memref<32x32xi8>
          %b = aie.objectfifo.acquire @memB(Consume, 1) : !aie.objectfifosubview<memref<32x32xi8>>
          %b0 = aie.objectfifo.subview.access %b[0] : !aie.objectfifosubview<memref<32x32xi8>> -> memref<32x32xi8>
          func.call @matmul_i8_i32(%a0, %b0, %c0) : (memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>) -> ()
          aie.objectfifo.release @memA(Consume, 1)
          aie.objectfifo.release @memB(Consume, 1)
        }
        aie.objectfifo.release @memC(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    aie.runtime_sequence @sequence(%A: memref<4096xi8>, %B: memref<64x64xi8>, %C: memref<4096xi32>) {
      aiex.npu.dma_memcpy_nd(%C[0, 0, 0, 0][2, 2, 32, 32][2048, 32, 64, 1]) {id = 0 : i64, metadata = @outC, issue_token = true} : memref<4096xi32>
      aiex.npu.dma_memcpy_nd(%A[0, 0, 0, 0][2, 2, 32, 32][0, 32, 64, 1]) {id = 1 : i64, metadata = @inA} : memref<4096xi8>
      aiex.npu.dma_memcpy_nd(%B[0, 0, 0, 0][2, 2, 32, 32][32, 2048, 64, 1]) {id = 2 : i64, metadata = @inB} : memref<64x64xi8>
      aiex.npu.dma_memcpy_nd(0, 0, %A[0, 0, 0, 2048][2, 2, 32, 32][0, 32, 64, 1]) {id = 3 : i64, metadata = @inA} : memref<4096xi8>
      aiex.npu.dma_memcpy_nd(0, 0, %B[0, 0, 0, 0][2, 2, 32, 32][32, 2048, 64, 1]) {id = 4 : i64, metadata = @inB} : memref<64x64xi8>
      aiex.npu.dma_wait {symbol = @outC}
    }
  }
}
