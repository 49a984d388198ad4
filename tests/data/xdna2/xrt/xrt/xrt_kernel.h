// XRT as the exported gemm.cpp calls it, without an NPU: a run multiplies int8 matrices. The "instructions" are m, n, k and
// whether an element of C becomes wrong. One hardware context serves all runs.
#pragma once
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE, XCL_BO_SYNC_BO_FROM_DEVICE };
enum ert_cmd_state { ERT_CMD_STATE_COMPLETED = 4 };

namespace xrt {
struct uuid {};
struct xclbin {
  explicit xclbin(const std::string &path) {
    if (!std::ifstream(path)) throw std::runtime_error(path + ": no such file");
  }
  uuid get_uuid() const { return {}; }
};
struct device {
  explicit device(unsigned) {}
  uuid register_xclbin(const xclbin &) { return {}; }
};
struct hw_context {
  hw_context(const device &, const uuid &) {}
};
struct kernel {
  kernel(const hw_context &, const std::string &name) {
    if (name != "MLIR_AIE") throw std::runtime_error(name + ": unknown kernel");
  }
  int group_id(int index) const { return index; }
};
struct bo {
  enum class flags { cacheable, host_only };
  std::vector<char> data;
  bo(const device &, size_t size, flags, int) : data(size) {}
  void write(const void *from, size_t size, size_t at) { std::memcpy(&data.at(at), from, size); }
  void read(void *to, size_t size, size_t at) { std::memcpy(to, &data.at(at), size); }
  void sync(xclBOSyncDirection) {}
};
class run {
  bo *argument[8] = {};

public:
  explicit run(const kernel &) {}
  void set_arg(int index, bo &b) { argument[index] = &b; }
  void set_arg(int, int) {}
  void start() {
    int32_t size[4];
    argument[1]->read(size, sizeof size, 0);
    const int m = size[0], n = size[1], k = size[2];
    const int8_t *a = (const int8_t *)argument[3]->data.data(), *b = (const int8_t *)argument[4]->data.data();
    std::vector<int32_t> c((size_t)m * n);
    for (int i = 0; i < m; i++)
      for (int p = 0; p < k; p++)
        for (int j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * b[p * n + j];
    if (size[3]) c[c.size() / 3] ^= 1;
    argument[5]->write(c.data(), c.size() * sizeof c[0], 0);
  }
  ert_cmd_state wait() { return ERT_CMD_STATE_COMPLETED; }
};
} // namespace xrt
